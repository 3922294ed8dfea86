import { type Config, findValue, type OptionRow, ROWS, withValue } from './options.ts'
import { type Assignment, createSettings, joinNames, type Settings } from './settings.ts'

export interface Comparison {
  /** Names that changed and are in force with `settings`: options, and entries of the open sections. */
  readonly applied: readonly string[]
  /** Options that changed and keep the old value until the next start. */
  readonly needRestart: readonly string[]
  /** The new settings, with the old value of every option that needs a restart. */
  readonly settings: Settings
}

export function compareSettings(before: Settings, after: Settings): Comparison {
  const changed = ROWS.filter((row) => printed(row, before.values) !== printed(row, after.values))
  const late = changed.filter((row) => row.option.reload === 'restart')
  const live = changed.filter((row) => row.option.reload === 'live')
  return {
    applied: [...live.map((row) => row.name), ...changedEntries(before, after)],
    needRestart: late.map((row) => row.name),
    settings: late.length === 0 ? after : keepOld(before, after, late),
  }
}

const printed = (row: OptionRow, values: Config): string => row.option.codec.print(findValue(values, row))

function keepOld(before: Settings, after: Settings, late: readonly OptionRow[]): Settings {
  const values = late.reduce((all, row) => withValue(all, row, findValue(before.values, row)), after.values)
  const names = new Set(late.map((row) => joinNames(row.section, row.key)))
  const isLate = ({ section, key }: Assignment) => names.has(joinNames(section, key))
  const entries = [...after.entries.filter((entry) => !isLate(entry)), ...before.entries.filter(isLate)]
  return createSettings({ ...after, values, entries })
}

function changedEntries(before: Settings, after: Settings): readonly string[] {
  const old = new Map(openEntries(before))
  const now = new Map(openEntries(after))
  const names = new Set([...old.keys(), ...now.keys()])
  return [...names].filter((name) => old.get(name) !== now.get(name))
}

/** Entries of the open sections: their name, and a text that changes whenever they do. */
function openEntries({ admins, deletedAdmins, open }: Settings): (readonly [string, string])[] {
  const byName = Map.groupBy(admins, ({ name }) => name)
  return [
    ...[...byName].map(
      ([name, list]) =>
        [`admins.${name}`, JSON.stringify(list.map(({ text, source }) => [text, source.kind]))] as const,
    ),
    ...deletedAdmins.map((name) => [`admins.${name}`, 'deleted'] as const),
    ...open.jwt_keys.map(({ key, text }) => [`jwt_keys.${key}`, text] as const),
    ...open.services.map(({ key, text }) => [`services.${key}`, text] as const),
  ]
}
