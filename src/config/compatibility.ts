// What a name in a file or flag written for CouchDB or ArangoDB means to Cardea.
import {
  DOCUMENT_UNUSED,
  FALLBACKS,
  isForeignSection,
  MULTI_MODEL_SWITCHES,
  MULTI_MODEL_UNUSED,
  NOTES,
  RENAMED,
} from './compatibility-names.ts'
import { OPEN_SECTIONS, OPTIONS, type OpenSection } from './option-table.ts'
import {
  findNamed,
  findOpenSection,
  findOption,
  isSection,
  type OptionName,
  type OptionRow,
  ROWS,
  splitName,
} from './options.ts'

/** Options that an earlier section must not make less strict: its value is used only if the check returns `true`. */
const STRICT_ENOUGH: ReadonlyMap<OptionName, (value: unknown) => boolean> = new Map([
  ['chttpd.require_valid_user', (value) => value === true],
  ['chttpd.require_valid_user_except_for_up', (value) => value === true],
  ['chttpd.validate_host', (value) => value === true],
  ['chttpd_auth.iterations', (value) => typeof value === 'number' && value >= OPTIONS.chttpd_auth.iterations.initial],
  ['chttpd_auth.password_scheme', (value) => value === 'pbkdf2'],
  ['chttpd_auth.proxy_use_secret', (value) => value === true],
  ['chttpd_auth.users_db_public', (value) => value === false],
])

export const isStrictEnough = (name: OptionName, value: unknown): boolean => STRICT_ENOUGH.get(name)?.(value) ?? true

const toNames = (unused: typeof DOCUMENT_UNUSED): readonly string[] =>
  Object.entries(unused).flatMap(([section, keys]) => keys.map((key) => `${section}.${key}`))

const DOCUMENT_UNUSED_NAMES: ReadonlySet<string> = new Set(toNames(DOCUMENT_UNUSED))
const SWITCHES: ReadonlySet<string> = new Set(toNames(MULTI_MODEL_SWITCHES))
const UNUSED_NAMES: ReadonlySet<string> = new Set([
  ...DOCUMENT_UNUSED_NAMES,
  ...toNames(MULTI_MODEL_UNUSED),
  ...SWITCHES,
])

/** Earlier names of Cardea's sections. */
const EARLIER_SECTIONS: ReadonlySet<string> = new Set(
  [...RENAMED.keys(), ...FALLBACKS.keys()].map((name) => splitName(name).section),
)

/** Every accepted name that is not in the table of options. */
export const FOREIGN_NAMES: readonly string[] = [...UNUSED_NAMES, ...RENAMED.keys(), ...FALLBACKS.keys()]

/** What `[section] key` means to Cardea. */
export type Target =
  | { readonly kind: 'option'; readonly row: OptionRow; readonly isOldName?: true }
  | { readonly kind: 'fallback'; readonly row: OptionRow }
  | { readonly kind: 'open'; readonly section: OpenSection }
  | { readonly kind: 'unused'; readonly note: string | undefined; readonly isSwitch: boolean }
  | { readonly kind: 'unknown option' }
  | { readonly kind: 'unknown section' }

export function findTarget(section: string, key: string): Target {
  const row = findOption(section, key)
  if (row) return { kind: 'option', row }
  const open = findOpenSection(section)
  if (open) return { kind: 'open', section: open }
  const name = `${section}.${key}`
  const renamed = findNamed(RENAMED.get(name) ?? '')
  if (renamed) return { kind: 'option', row: renamed, isOldName: true }
  const fallback = findNamed(FALLBACKS.get(name) ?? '')
  if (fallback) return { kind: 'fallback', row: fallback }
  if (UNUSED_NAMES.has(name)) return { kind: 'unused', note: NOTES.get(name), isSwitch: SWITCHES.has(name) }
  if (isForeignSection(section)) return { kind: 'unused', note: undefined, isSwitch: false }
  return { kind: isOwnSection(section) ? 'unknown option' : 'unknown section' }
}

/** Sections in which an unknown key is an error: those of the table, and their earlier names. */
const isOwnSection = (section: string): boolean => isSection(section) || EARLIER_SECTIONS.has(section)

/** Whether Cardea, CouchDB or ArangoDB has this section. */
export const isKnownSection = (section: string): boolean =>
  isOwnSection(section) || findOpenSection(section) !== undefined || isForeignSection(section)

/** Names of the sections that have an effect. */
export const EFFECTIVE_SECTIONS: readonly string[] = [
  ...new Set([...OPEN_SECTIONS, ...ROWS.map((row) => row.section), ...EARLIER_SECTIONS]),
]

/**
 * Whether Cardea itself answers requests for a section or key, instead of the upstream CouchDB. An option of CouchDB
 * without effect in Cardea belongs to CouchDB, in every section. An unknown option is Cardea's in a section of Cardea.
 */
export function isOwnSetting(section: string, key?: string): boolean {
  const isOwn = isOwnSection(section) || findOpenSection(section) !== undefined
  if (key === undefined) return isOwn
  const name = `${section}.${key}`
  const { kind } = findTarget(section, key)
  if (kind === 'unused') return UNUSED_NAMES.has(name) && !DOCUMENT_UNUSED_NAMES.has(name)
  return kind === 'unknown option' ? isOwn : kind !== 'unknown section'
}

const SECRET_NAME = /passw|secret/i

/** Whether the value of an unknown setting is hidden, judged by its name. */
export const hasSecretName = (key: string): boolean => SECRET_NAME.test(key)
