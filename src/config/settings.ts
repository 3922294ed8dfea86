import { type Config, findOption, findValue, type OptionName, type OptionRow, ROWS, withValue } from './options.ts'

/** Where a setting was given. */
export type Source =
  | { readonly kind: 'default' }
  | { readonly kind: 'file'; readonly path: string; readonly line: number }
  | { readonly kind: 'run time' }
  | { readonly kind: 'environment'; readonly name: string }
  | { readonly kind: 'flag'; readonly name: string }

/** A text given for `[section] key`, as it was written. */
export interface Assignment {
  readonly section: string
  readonly key: string
  readonly text: string
  readonly source: Source
}

export interface AdminEntry {
  readonly name: string
  /** A stored form, or a password in clear. Never to be shown. */
  readonly text: string
  readonly source: Source
}

export interface OpenEntry {
  readonly key: string
  /** The value; where it was given as a file, what the file says. Never to be shown. */
  readonly text: string
  readonly source: Source
}

export interface SettingsParts {
  readonly values: Config
  /**
   * Administrators as given, in the order of layers (files, run time, environment, flags), so that a name can stand
   * here more than once. Files count by the last `[admins]` section alone.
   */
  readonly admins: readonly AdminEntry[]
  /** Passwords in clear in lines of `[admins]` that do not count. */
  readonly overruledPasswords: readonly AdminEntry[]
  /** Names deleted at run time. */
  readonly deletedAdmins: readonly string[]
  readonly open: { readonly jwt_keys: readonly OpenEntry[]; readonly services: readonly OpenEntry[] }
  /** Settings of the emulated servers, and of nobody, which have no effect here. */
  readonly ignored: readonly Assignment[]
  /**
   * The last text given for each setting, ignored ones too; defaults and administrators are not among it. An option
   * given under an earlier name stands here under both.
   */
  readonly entries: readonly Assignment[]
  /** What has been asked of them, and will be of every change. */
  readonly rules: readonly Rule[]
}

/** What rules look at. */
export type Given = Pick<SettingsParts, 'values' | 'open'>

/** What is wrong, and with which of the settings a rule is about. */
export interface Finding {
  readonly message: string
  readonly about: readonly (readonly [section: string, key: string])[]
}

/** Something several options must agree on, or that only those who use an option can judge. */
export interface Rule {
  readonly about: readonly OptionName[]
  /** Left out: options that do not go together. `bad-value`: what is wrong is the value of one. `warning`: it works. */
  readonly kind?: 'bad-value' | 'warning'
  /** What is wrong, or nothing. A sentence alone is about all of `about`. */
  check(given: Given): Finding | string | undefined
}

/** What is in force: checked, complete, frozen. */
export interface Settings extends SettingsParts {
  /** The text in force and where it came from: of an option also its default, `undefined` for what nobody gave. */
  find(section: string, key: string): Pick<Assignment, 'text' | 'source'> | undefined
}

const DEFAULT: Source = Object.freeze({ kind: 'default' })

/** Two names as one, such that no other two give the same. */
export const joinNames = (section: string, key: string): string => JSON.stringify([section, key])

export function createSettings(parts: SettingsParts): Settings {
  const given = new Map(parts.entries.map((entry) => [joinNames(entry.section, entry.key), entry]))
  const find: Settings['find'] = (section, key) => {
    const entry = given.get(joinNames(section, key))
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
