import type { Config, OptionName } from './options.ts'

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
  /** What the value is once a file it names is read. Never to be shown. */
  readonly text: string
  readonly source: Source
}

/** What is in force: checked, complete, frozen. */
export interface Settings {
  readonly values: Config
  /**
   * Administrators as given, in the order of layers (files, run time, environment, flags), so that a name can stand
   * here more than once. Files count by the last `[admins]` section alone.
   */
  readonly admins: readonly AdminEntry[]
  /** Names deleted at run time. */
  readonly deletedAdmins: readonly string[]
  readonly open: { readonly jwt_keys: readonly OpenEntry[]; readonly services: readonly OpenEntry[] }
  /** Settings of the emulated servers, and of nobody, which have no effect here. */
  readonly ignored: readonly Assignment[]
  /** Options that were given and are not in force in this version. */
  readonly notInForce: readonly OptionName[]
  /** Everything that was given, in force or ignored; defaults and administrators are not among it. */
  readonly entries: readonly Assignment[]
  /** The text in force and where it came from: of an option also its default, `undefined` for what nobody gave. */
  find(section: string, key: string): Pick<Assignment, 'text' | 'source'> | undefined
}

/** `path:line`, `--flag`, the name of a variable. */
export function renderSource(source: Source): string {
  if (source.kind === 'file') return `${source.path}:${source.line}`
  return source.kind === 'environment' || source.kind === 'flag' ? source.name : source.kind
}
