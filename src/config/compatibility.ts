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
import { CORE_OPTIONS, OPEN_SECTIONS, type OpenSection } from './option-table.ts'
import { kindOf, type NamedSection, type OptionName, type OptionRow, type OptionTable, splitName } from './options.ts'

/** Options that an earlier section must not make less strict: its value is used only if the check returns `true`. */
const STRICT_ENOUGH: ReadonlyMap<OptionName, (value: unknown) => boolean> = new Map([
  ['chttpd.require_valid_user', (value) => value === true],
  ['chttpd.require_valid_user_except_for_up', (value) => value === true],
  ['chttpd.validate_host', (value) => value === true],
  [
    'chttpd_auth.iterations',
    (value) => typeof value === 'number' && value >= CORE_OPTIONS.chttpd_auth.iterations.initial,
  ],
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
  | { readonly kind: 'named'; readonly row: NamedSection }
  | { readonly kind: 'unused'; readonly note: string | undefined; readonly isSwitch: boolean }
  | { readonly kind: 'unknown option' }
  | { readonly kind: 'unknown section' }

export function findTarget(table: OptionTable, section: string, key: string): Target {
  const row = table.find(section, key)
  if (row) return { kind: 'option', row }
  const open = OPEN_SECTIONS.find((each) => each === section)
  if (open) return { kind: 'open', section: open }
  const named = table.named.get(kindOf(section))
  if (named) return { kind: 'named', row: named }
  const name = `${section}.${key}`
  const renamed = table.findNamed(RENAMED.get(name) ?? '')
  if (renamed) return { kind: 'option', row: renamed, isOldName: true }
  const fallback = table.findNamed(FALLBACKS.get(name) ?? '')
  if (fallback) return { kind: 'fallback', row: fallback }
  if (UNUSED_NAMES.has(name)) return { kind: 'unused', note: NOTES.get(name), isSwitch: SWITCHES.has(name) }
  if (isForeignSection(section)) return { kind: 'unused', note: undefined, isSwitch: false }
  return { kind: isOwnSection(table, section) ? 'unknown option' : 'unknown section' }
}

/** Sections in which an unknown key is an error: those of the table, and their earlier names. */
const isOwnSection = ({ sections }: OptionTable, section: string): boolean =>
  sections.has(section) || EARLIER_SECTIONS.has(section)

const isOpenSection = ({ named }: OptionTable, section: string): boolean =>
  OPEN_SECTIONS.some((open) => open === section) || named.has(kindOf(section))

/** Whether Cardea, CouchDB or ArangoDB has this section. */
export const isKnownSection = (table: OptionTable, section: string): boolean =>
  isOwnSection(table, section) || isOpenSection(table, section) || isForeignSection(section)

/** Names of the sections that have an effect. */
export const listEffectiveSections = ({ sections, named }: OptionTable): readonly string[] => [
  ...new Set([...OPEN_SECTIONS, ...named.keys(), ...sections.keys(), ...EARLIER_SECTIONS]),
]

/**
 * Whether Cardea itself answers requests for a section or key, instead of the upstream CouchDB. An option of CouchDB
 * without effect in Cardea belongs to CouchDB, in every section. An unknown option is Cardea's in a section of Cardea.
 */
export function isOwnSetting(table: OptionTable, section: string, key?: string): boolean {
  const isOwn = isOwnSection(table, section) || isOpenSection(table, section)
  if (key === undefined) return isOwn
  const name = `${section}.${key}`
  const { kind } = findTarget(table, section, key)
  if (kind === 'unused') return UNUSED_NAMES.has(name) && !DOCUMENT_UNUSED_NAMES.has(name)
  return kind === 'unknown option' ? isOwn : kind !== 'unknown section'
}

const SECRET_NAME = /passw|secret/i

/** Whether the value of an unknown setting is hidden, judged by its name. */
export const hasSecretName = (key: string): boolean => SECRET_NAME.test(key)
