import { hasSecretName } from './compatibility.ts'
import type { Source } from './options.ts'
import { findOption, findValue, isConcealed, kindOf, MASK, type OptionTable } from './options.ts'
import { isFileReference } from './secrets.ts'
import { type Assignment, DEFAULT, renderSource, type Settings } from './settings.ts'

/** One setting without secrets. */
export interface ShownSetting {
  readonly name: string
  /** The current value, or the mask of a secret. */
  readonly value: string
  readonly source: string
  readonly isDefault: boolean
  readonly note?: 'ignored'
}

/** All settings: options in the order of the table, then the open sections, then ignored ones. */
export const describeSettings = (settings: Settings): readonly ShownSetting[] => [
  ...describeOptions(settings),
  ...describeOpen(settings),
  ...settings.ignored.map((entry) => describeIgnored(settings, entry)),
]

const describeOptions = (settings: Settings): ShownSetting[] =>
  settings.table.rows.map((row) => {
    const source = settings.find(row.section, row.key)?.source ?? DEFAULT
    const text = row.option.codec.print(findValue(settings.values, row))
    return show(row.name, isConcealed(row.option, text) ? MASK : text, source)
  })

const show = (name: string, value: string, source: Source): ShownSetting => ({
  name,
  value,
  source: renderSource(source),
  isDefault: source.kind === 'default',
})

const showEntry = ({ table }: Settings, entry: Assignment): ShownSetting =>
  show(`${entry.section}.${entry.key}`, toShownText(table, entry), entry.source)

const describeOpen = (settings: Settings): ShownSetting[] => [
  ...settings.admins.map(({ name, source }) => show(`admins.${name}`, MASK, source)),
  ...settings.open.jwt_keys.map(({ key, source }) => show(`jwt_keys.${key}`, MASK, source)),
  ...settings.open.jwt_key_limits.map(({ key, text, source }) => show(`jwt_key_limits.${key}`, text, source)),
  ...settings.open.services.map(({ key, text, source }) => show(`services.${key}`, text, source)),
  ...settings.entries
    .filter(({ section }) => settings.table.named.has(kindOf(section)))
    .map((entry) => showEntry(settings, entry)),
]

const describeIgnored = (settings: Settings, entry: Assignment): ShownSetting => ({
  ...showEntry(settings, entry),
  isDefault: false,
  note: 'ignored',
})

/** The configured text of a setting, or the mask if it is a secret or its name suggests one. */
export function toShownText(
  table: OptionTable,
  { section, key, text }: Pick<Assignment, 'section' | 'key' | 'text'>,
): string {
  if (section === 'jwt_keys' || section === 'admins') return MASK
  const option = findOption(table, section, key)
  // the path of a secret file is hidden too
  const isHidden = option ? isConcealed(option, text) || (option.secret && isFileReference(text)) : hasSecretName(key)
  return isHidden ? MASK : text
}

/** Messages for the log at start: settings without effect. */
export function renderNotices({ ignored }: Settings): readonly string[] {
  const names = [...new Set(ignored.map(({ section, key }) => `[${section}] ${key}`))]
  return names.length > 0 ? [`ignored, because Cardea does not use it: ${names.join(', ')}`] : []
}

/** The current settings with their sources, secrets masked; defaults only with `all`. */
export function renderSettings(settings: Settings, { all = false }: { readonly all?: boolean } = {}): string {
  const shown = describeSettings(settings).filter((setting) => all || !setting.isDefault)
  return shown.map((setting) => `${renderShown(setting)}\n`).join('')
}

const renderShown = ({ name, value, source, note }: ShownSetting): string =>
  `${name} =${value === '' ? '' : ` ${value}`}  (${note === undefined ? source : `${source}; ${note}`})`
