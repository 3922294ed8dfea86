import { type Config, findValue, type OptionRow, ROWS, withValue } from './options.ts'
import { type Assignment, createSettings, joinNames, type Settings } from './settings.ts'

export interface Comparison {
  /** Names that changed and are in force with `settings`: options, and entries of the open sections. */
  readonly applied: readonly string[]
  /** Options and services that changed and keep the old value until the next start. */
  readonly needRestart: readonly string[]
  /** The new settings, with the old value of everything that needs a restart. */
  readonly settings: Settings
}

export function compareSettings(before: Settings, after: Settings): Comparison {
  const changed = ROWS.filter((row) => printed(row, before.values) !== printed(row, after.values))
  const late = changed.filter((row) => row.option.reload === 'restart')
  const live = changed.filter((row) => row.option.reload === 'live')
  const services = changedEntries(listServices(before), listServices(after))
  return {
    applied: [...live.map((row) => row.name), ...changedEntries(openEntries(before), openEntries(after))],
    needRestart: [...late.map((row) => row.name), ...services],
    settings: late.length + services.length === 0 ? after : keepOld(before, after, late),
  }
}

const printed = (row: OptionRow, values: Config): string => row.option.codec.print(findValue(values, row))

function keepOld(before: Settings, after: Settings, late: readonly OptionRow[]): Settings {
  const values = late.reduce((all, row) => withValue(all, row, findValue(before.values, row)), after.values)
  const names = new Set(late.map((row) => joinNames(row.section, row.key)))
  const isLate = ({ section, key }: Assignment) => section === 'services' || names.has(joinNames(section, key))
  const entries = [...after.entries.filter((entry) => !isLate(entry)), ...before.entries.filter(isLate)]
  const open = { ...after.open, services: before.open.services }
  return createSettings({ ...after, values, open, entries })
}

/** A name, and a text that changes whenever what it names does. */
type Entry = readonly [name: string, text: string]

function changedEntries(before: readonly Entry[], after: readonly Entry[]): readonly string[] {
  const old = new Map(before)
  const now = new Map(after)
  const names = new Set([...old.keys(), ...now.keys()])
  return [...names].filter((name) => old.get(name) !== now.get(name))
}

/** Entries of the open sections that are followed as they change. */
function openEntries({ admins, deletedAdmins, open }: Settings): readonly Entry[] {
  const byName = Map.groupBy(admins, ({ name }) => name)
  return [
    ...[...byName].map(
      ([name, list]): Entry => [`admins.${name}`, JSON.stringify(list.map(({ text, source }) => [text, source.kind]))],
    ),
    ...deletedAdmins.map((name): Entry => [`admins.${name}`, 'deleted']),
    ...open.jwt_keys.map(({ key, text }): Entry => [`jwt_keys.${key}`, text]),
  ]
}

const listServices = ({ open }: Settings): readonly Entry[] =>
  open.services.map(({ key, text }) => [`services.${key}`, text])
