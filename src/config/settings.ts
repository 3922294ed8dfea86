import {
  type AllValues,
  type Config,
  findValue,
  kindOf,
  type NamedEntry,
  type NamedValues,
  type OptionRow,
  type OptionTable,
  type Rule,
  type Source,
  withValue,
} from './options.ts'

/** A text for `[section] key`, as it was written. */
export interface Assignment {
  readonly section: string
  readonly key: string
  readonly text: string
  readonly source: Source
}

export interface AdminEntry {
  readonly name: string
  /** A hash or a plain-text password. Never shown. */
  readonly text: string
  readonly source: Source
}

/** The sections `[kind:name]`, by kind. */
export type NamedEntries = { readonly [K in keyof NamedValues]: readonly NamedEntry<NamedValues[K]>[] }

/** Settings: checked, complete, frozen. */
export interface Settings {
  /** What these are the values of. */
  readonly table: OptionTable
  readonly values: Config
  /**
   * Administrators in the order of layers (files, run time, environment, flags). A name can occur once in each layer.
   * The files have one section: only the last `[admins]` of them is used.
   */
  readonly admins: readonly AdminEntry[]
  /** Plain-text passwords in ignored lines of `[admins]`. */
  readonly overruledPasswords: readonly AdminEntry[]
  /** Names deleted at run time. */
  readonly deletedAdmins: readonly string[]
  readonly open: AllValues['open']
  readonly named: NamedEntries
  /** Settings of CouchDB and ArangoDB, and unknown ones, without effect. */
  readonly ignored: readonly Assignment[]
  /**
   * The last text of each setting, including ignored ones, without defaults and administrators. An option set under an
   * earlier name is listed under both names.
   */
  readonly entries: readonly Assignment[]
  /** The rules that these settings fulfil, checked again for every change. */
  readonly rules: readonly Rule[]
  /** The current text and its source, which may be the default; `undefined` for an unknown setting. */
  find(section: string, key: string): Pick<Assignment, 'text' | 'source'> | undefined
}

/** Where a value comes from that nothing sets. */
export const DEFAULT: Source = Object.freeze({ kind: 'default' })

/** Joins two names without ambiguity. */
export const joinNames = (section: string, key: string): string => JSON.stringify([section, key])

export function createSettings(parts: Omit<Settings, 'find'>): Settings {
  const set = new Map(parts.entries.map((entry) => [joinNames(entry.section, entry.key), entry]))
  const find: Settings['find'] = (section, key) => {
    const entry = set.get(joinNames(section, key))
    if (entry) return { text: entry.text, source: entry.source }
    const row = parts.table.find(section, key)
    return row && { text: row.option.codec.print(row.option.initial), source: DEFAULT }
  }
  return freezeDeep({ ...parts, find })
}

function freezeDeep<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  Object.values(value).forEach(freezeDeep)
  return Object.freeze(value)
}

/** `path:line`, `--flag`, the name of a variable. */
export function renderSource(source: Source): string {
  if (source.kind === 'file') return `${source.path}:${source.line}`
  return source.kind === 'environment' || source.kind === 'flag' ? source.name : source.kind
}

export function compareSettings(before: Settings, after: Settings) {
  const changed = after.table.rows.filter((row) => printed(row, before.values) !== printed(row, after.values))
  const late = changed.filter((row) => row.option.reload === 'restart')
  const live = changed.filter((row) => row.option.reload === 'live')
  const services = changedEntries(listLateEntries(before), listLateEntries(after))
  return {
    /** Names of changed options and entries of open sections that are applied with `settings`. */
    applied: [...live.map((row) => row.name), ...changedEntries(openEntries(before), openEntries(after))],
    /** Changed options and services that keep the old value until the next start. */
    needRestart: [...late.map((row) => row.name), ...services],
    /** The new settings, with the old value of everything that needs a restart. */
    settings: late.length + services.length === 0 ? after : keepOld(before, after, late),
  }
}

const printed = (row: OptionRow, values: Config): string => row.option.codec.print(findValue(values, row))

function keepOld(before: Settings, after: Settings, late: readonly OptionRow[]): Settings {
  const values = late.reduce((all, row) => withValue(all, row, findValue(before.values, row)), after.values)
  const names = new Set(late.map((row) => joinNames(row.section, row.key)))
  const isLate = ({ section, key }: Assignment) =>
    section === 'services' || after.table.named.has(kindOf(section)) || names.has(joinNames(section, key))
  const entries = [...after.entries.filter((entry) => !isLate(entry)), ...before.entries.filter(isLate)]
  const open = { ...after.open, services: before.open.services }
  return createSettings({ ...after, values, open, named: before.named, entries })
}

/** A name, and a text that changes with it. */
type Entry = readonly [name: string, text: string]

function changedEntries(before: readonly Entry[], after: readonly Entry[]): readonly string[] {
  const old = new Map(before)
  const now = new Map(after)
  const names = new Set([...old.keys(), ...now.keys()])
  return [...names].filter((name) => old.get(name) !== now.get(name))
}

/** Entries of the open sections that take effect at once. */
function openEntries({ admins, deletedAdmins, open }: Settings): readonly Entry[] {
  const byName = Map.groupBy(admins, ({ name }) => name)
  return [
    ...[...byName].map(
      ([name, list]): Entry => [`admins.${name}`, JSON.stringify(list.map(({ text, source }) => [text, source.kind]))],
    ),
    ...deletedAdmins.map((name): Entry => [`admins.${name}`, 'deleted']),
    ...open.jwt_keys.map(({ key, text }): Entry => [`jwt_keys.${key}`, text]),
    ...open.jwt_key_limits.map(({ key, text }): Entry => [`jwt_key_limits.${key}`, text]),
  ]
}

/** Services and named sections, which take effect at the next start. */
const listLateEntries = ({ open, named }: Settings): readonly Entry[] => [
  ...open.services.map(({ key, text }): Entry => [`services.${key}`, text]),
  ...Object.entries<readonly NamedEntry[]>(named).flatMap(([kind, entries]) =>
    entries.map(({ name, values }): Entry => [`${kind}:${name}`, JSON.stringify(values)]),
  ),
]

/** Whether the option is set explicitly, to any value. */
export const isGiven = (settings: Settings, section: string, key: string): boolean =>
  settings.find(section, key)?.source.kind !== 'default'
