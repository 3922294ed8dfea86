import {
  type Config,
  findOption,
  findValue,
  type OptionName,
  type OptionRow,
  PROVIDER_PREFIX,
  ROWS,
  withValue,
} from './options.ts'
import type { ProviderValues } from './provider-table.ts'

/** Where a setting comes from. */
export type Source =
  | { readonly kind: 'default' }
  | { readonly kind: 'file'; readonly path: string; readonly line: number }
  | { readonly kind: 'run time' }
  | { readonly kind: 'environment'; readonly name: string }
  | { readonly kind: 'flag'; readonly name: string }

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

export interface OpenEntry {
  readonly key: string
  /** The value, or the contents of its file. Never shown. */
  readonly text: string
  readonly source: Source
}

/** A section `[provider:<name>]`. */
export interface ProviderEntry {
  readonly name: string
  readonly values: ProviderValues
  /** Of its first line. */
  readonly source: Source
}

/** Settings: checked, complete, frozen. */
export interface Settings {
  readonly values: Config
  /**
   * Administrators in the order of layers (files, run time, environment, flags). A name can occur once in each layer.
   * Of the files, only the last `[admins]` section is used.
   */
  readonly admins: readonly AdminEntry[]
  /** Plain-text passwords in ignored lines of `[admins]`. */
  readonly overruledPasswords: readonly AdminEntry[]
  /** Names deleted at run time. */
  readonly deletedAdmins: readonly string[]
  readonly open: {
    readonly jwt_keys: readonly OpenEntry[]
    readonly services: readonly OpenEntry[]
    readonly provider: readonly ProviderEntry[]
  }
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

/** The values of all options and of the open sections: what rules check. */
export type AllValues = Pick<Settings, 'values' | 'open'>

/** What is wrong, and with which settings. */
export interface RuleFinding {
  readonly message: string
  readonly about: readonly (readonly [section: string, key: string])[]
}

/** A condition on several options, or one that only the code which uses an option can check. */
export interface Rule {
  readonly about: readonly OptionName[]
  /** By default options that contradict each other. `bad-value`: one value is wrong. `warning`: not an error. */
  readonly kind?: 'bad-value' | 'warning'
  /** What is wrong, if anything. A plain message concerns all of `about`. */
  check(all: AllValues): RuleFinding | string | undefined
}

/** Of a value that nothing sets. */
export const DEFAULT: Source = Object.freeze({ kind: 'default' })

/** Joins two names without ambiguity. */
export const joinNames = (section: string, key: string): string => JSON.stringify([section, key])

export function createSettings(parts: Omit<Settings, 'find'>): Settings {
  const set = new Map(parts.entries.map((entry) => [joinNames(entry.section, entry.key), entry]))
  const find: Settings['find'] = (section, key) => {
    const entry = set.get(joinNames(section, key))
    if (entry) return { text: entry.text, source: entry.source }
    const row = findOption(section, key)
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
  const changed = ROWS.filter((row) => printed(row, before.values) !== printed(row, after.values))
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
    section === 'services' || section.startsWith(PROVIDER_PREFIX) || names.has(joinNames(section, key))
  const entries = [...after.entries.filter((entry) => !isLate(entry)), ...before.entries.filter(isLate)]
  const open = { ...after.open, services: before.open.services, provider: before.open.provider }
  return createSettings({ ...after, values, open, entries })
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
  ]
}

/** Services and providers, which take effect at the next start. */
const listLateEntries = ({ open }: Settings): readonly Entry[] => [
  ...open.services.map(({ key, text }): Entry => [`services.${key}`, text]),
  ...open.provider.map(({ name, values }): Entry => [`${PROVIDER_PREFIX}${name}`, JSON.stringify(values)]),
]
