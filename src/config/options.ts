// The table of options with the rows of all modules, and the types of its values.
import { CORE_OPTIONS, CORE_SECTIONS, type Option } from './option-table.ts'

type Core = typeof CORE_OPTIONS
type CoreName = { [S in keyof Core]: `${S}.${keyof Core[S] & string}` }[keyof Core]
type CoreRow<N> = N extends `${infer S extends keyof Core}.${infer K}` ? Core[S][K & keyof Core[S]] : never
type CoreRows = { readonly [N in CoreName]: CoreRow<N> }

/** All options by their names, `section.key`: each module extends this interface with its own. */
export interface OptionRows extends CoreRows {}

export type OptionName = keyof OptionRows
type SectionOf<N> = N extends `${infer S}.${string}` ? S : never
type KeyOf<N, S extends string> = N extends `${S}.${infer K}` ? K : never
type ValueOf<O> = O extends Option<infer T> ? T : never

export type Section = SectionOf<OptionName>

/** Every option's value, by section and name. */
export type Config = {
  readonly [S in Section]: { readonly [N in OptionName as KeyOf<N, S>]: ValueOf<OptionRows[N]> }
}

export interface OptionRow {
  readonly section: Section
  readonly key: string
  readonly name: OptionName
  readonly option: Option<unknown>
}

/** The values of the sections `[kind:name]`, by kind: a module that brings such sections extends this interface. */
// biome-ignore lint/suspicious/noEmptyInterface: modules extend it
export interface NamedValues {}

/** The values of one section `[kind:name]`. */
export interface NamedEntry<V = Readonly<Record<string, unknown>>> {
  readonly name: string
  readonly values: V
}

/** Sections that occur once for each name that the administrator chooses. They take effect at the next start. */
export interface NamedSection<V = Readonly<Record<string, unknown>>> {
  readonly help: string
  readonly rows: Readonly<Record<string, Option<unknown>>>
  /** Why they cannot be changed at run time: a clause after "because". */
  readonly fixed: string
  /** A name, and values for options without a default. */
  readonly sample: { readonly name: string; readonly values: Readonly<Record<string, string>> }
  /** What is wrong with the sections of these names. A warning does not prevent the start. */
  check(entries: readonly NamedEntry<V>[]): readonly {
    readonly name: string
    readonly message: string
    readonly isWarning?: boolean
  }[]
}

/** Where a setting comes from. */
export type Source =
  | { readonly kind: 'default' }
  | { readonly kind: 'file'; readonly path: string; readonly line: number }
  | { readonly kind: 'run time' }
  | { readonly kind: 'environment'; readonly name: string }
  | { readonly kind: 'flag'; readonly name: string }

/** A line of an open section. */
export interface OpenEntry {
  readonly key: string
  /** The value, or the contents of its file. Never shown. */
  readonly text: string
  readonly source: Source
}

/** The values of all options and of the open sections: what rules check. */
export interface AllValues {
  readonly values: Config
  readonly open: Readonly<Record<'jwt_keys' | 'jwt_key_limits' | 'services', readonly OpenEntry[]>>
}

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

/** What a module brings to the table of options. */
export interface ModuleOptions {
  /** By their names, `section.key`; see `OptionRows`. */
  readonly rows?: Readonly<Record<string, Option<unknown>>>
  /** Descriptions of the sections that only the module has. */
  readonly sections?: Readonly<Record<string, string>>
  /** By the kind of section; see `NamedValues`. */
  readonly named?: Readonly<Record<string, NamedSection>>
  readonly rules?: readonly Rule[]
}

/** `src/module-options.ts` has it. */
export interface OptionTable {
  /** Section by section. */
  readonly rows: readonly OptionRow[]
  /** A description of each section with rows. */
  readonly sections: ReadonlyMap<string, string>
  readonly named: ReadonlyMap<string, NamedSection>
  /** Those of modules. */
  readonly rules: readonly Rule[]
  findNamed(name: string): OptionRow | undefined
  find(section: string, key: string): OptionRow | undefined
}

/** What all modules bring, complete: a row that a module declares and does not bring does not compile. */
export interface AddedOptions {
  readonly rows: Omit<OptionRows, CoreName>
  readonly sections: Readonly<Record<Exclude<Section, keyof Core>, string>>
  readonly named: { readonly [K in keyof NamedValues]: NamedSection<NamedValues[K]> }
  readonly rules: readonly Rule[]
}

export function createOptionTable(added: AddedOptions): OptionTable {
  const core = Object.entries(CORE_OPTIONS).flatMap(([section, rows]) =>
    Object.entries(rows).map(([key, option]): [string, Option<unknown>] => [`${section}.${key}`, option]),
  )
  const all = [...core, ...Object.entries<Option<unknown>>(added.rows)].map(([name, option]) => toRow(name, option))
  const rows = [...Map.groupBy(all, ({ section }) => section).values()].flat()
  const byName: ReadonlyMap<string, OptionRow> = new Map(rows.map((row) => [row.name, row]))
  const findNamed = (name: string) => byName.get(name)
  return {
    rows,
    sections: new Map(Object.entries({ ...CORE_SECTIONS, ...added.sections })),
    named: new Map(Object.entries<NamedSection>(added.named)),
    rules: added.rules,
    findNamed,
    find: (section: string, key: string) => findNamed(`${section}.${key}`),
  }
}

/** `Object.entries` loses the literal names of the tables. */
function toRow(name: string, option: Option<unknown>): OptionRow {
  const { section, key } = splitName(name)
  return { section: section as Section, key, name: name as OptionName, option }
}

/** The value of a row that is known only at run time. */
export function findValue(values: Config, { section, key }: OptionRow): unknown {
  const rows: Readonly<Record<string, unknown>> = values[section]
  return rows[key]
}

/** Replaces one value. The new one must come from the codec of that row. */
export function withValue(values: Config, { section, key }: OptionRow, value: unknown): Config {
  return { ...values, [section]: { ...values[section], [key]: value } }
}

/** Splits `section.key`. A section of the table has no dot; a key may have one. */
export function splitName(name: string): { readonly section: string; readonly key: string } {
  const dot = name.indexOf('.')
  return { section: name.slice(0, dot), key: name.slice(dot + 1) }
}

/** An option of the table or of a section `[kind:name]`. */
export function findOption(table: OptionTable, section: string, key: string): Option<unknown> | undefined {
  const rows = table.named.get(kindOf(section))?.rows ?? {}
  return table.find(section, key)?.option ?? (Object.hasOwn(rows, key) ? rows[key] : undefined)
}

/** The kind of a section `[kind:name]`; a section without a name has the kind too. */
export const kindOf = (section: string): string => section.split(':', 1)[0] ?? section

/** Shown instead of a secret. */
export const MASK = '***'

/** Whether this text of this option must not be shown. That a secret is empty may be shown. */
export function isConcealed(row: Option<unknown>, text: string): boolean {
  if (!row.secret || text === '') return false
  return row.codec.carriesSecret?.(text) ?? true
}

/** Names in requests and responses, derived from `document.name` and `multi-model.name` if no option sets them. */
export function toWireNames(values: Config) {
  const { chttpd_auth: auth, jwt_auth: jwt } = values
  const document = values.document.name
  const multiModel = values['multi-model'].name
  return {
    userNameHeader: auth.x_auth_username || `X-Auth-${document}-UserName`,
    rolesHeader: auth.x_auth_roles || `X-Auth-${document}-Roles`,
    tokenHeader: auth.x_auth_token || `X-Auth-${document}-Token`,
    rolesClaim: jwt.roles_claim_name || `_${document.toLowerCase()}.roles`,
    /** What the ids of user documents begin with. */
    userIdPrefix: `org.${document.toLowerCase()}.user:`,
    realm: multiModel,
    issuer: multiModel.toLowerCase(),
  }
}
