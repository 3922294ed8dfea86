// Access to the table of options by name, and the types of its values.
import { OPEN_SECTIONS, OPTIONS, type OpenSection, type Option, type Section } from './option-table.ts'

type Table = typeof OPTIONS
type ValueOf<O> = O extends Option<infer T> ? T : never

/** Every option's value, by section and name. */
export type Config = {
  readonly [S in Section]: { readonly [K in keyof Table[S]]: ValueOf<Table[S][K]> }
}

/** `section.key` of every row. */
export type OptionName = { [S in Section]: `${S}.${keyof Table[S] & string}` }[Section]

export interface OptionRow {
  readonly section: Section
  readonly key: string
  readonly name: OptionName
  readonly option: Option<unknown>
}

/** The table row by row, in its order. */
export const ROWS: readonly OptionRow[] = Object.entries(OPTIONS).flatMap(([section, rows]) =>
  Object.entries(rows).map(([key, row]) => ({
    // `Object.entries` loses the literal names of the table.
    section: section as Section,
    key,
    name: `${section}.${key}` as OptionName,
    option: row,
  })),
)

const BY_NAME: ReadonlyMap<string, OptionRow> = new Map(ROWS.map((row) => [row.name, row]))

export const findNamed = (name: string): OptionRow | undefined => BY_NAME.get(name)

export const findOption = (section: string, key: string): OptionRow | undefined => findNamed(`${section}.${key}`)

/** The value of a row that is known only at run time. */
export function findValue(values: Config, { section, key }: OptionRow): unknown {
  const rows: Readonly<Record<string, unknown>> = values[section]
  return rows[key]
}

/** The same values with one replaced, which must come from the codec of that row. */
export function withValue(values: Config, { section, key }: OptionRow, value: unknown): Config {
  return { ...values, [section]: { ...values[section], [key]: value } }
}

/** Splits `section.key`. A section of the table has no dot; a key may have one. */
export function splitName(name: string): { readonly section: string; readonly key: string } {
  const dot = name.indexOf('.')
  return { section: name.slice(0, dot), key: name.slice(dot + 1) }
}

export const isSection = (section: string): section is Section => Object.hasOwn(OPTIONS, section)

/** The open section that a section of a file belongs to: `provider:<name>` to `provider`. */
export const findOpenSection = (section: string): OpenSection | undefined =>
  OPEN_SECTIONS.find((open) => section === open || (open === 'provider' && section.startsWith(PROVIDER_PREFIX)))

/** Before the name of an identity provider in the name of its section. */
export const PROVIDER_PREFIX = 'provider:'

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
    /** Of the id of a user document. */
    userIdPrefix: `org.${document.toLowerCase()}.user:`,
    realm: multiModel,
    issuer: multiModel.toLowerCase(),
  }
}
