import { soundsSecret } from './compatibility.ts'
import { findOption, findValue, isConcealed, MASK, ROWS } from './options.ts'
import { isFileReference } from './secrets.ts'
import { type Assignment, renderSource, type Settings } from './settings.ts'

/** One setting as it may be shown. */
export interface ShownSetting {
  readonly name: string
  /** The value in force, or the mask of a secret. */
  readonly value: string
  readonly source: string
  readonly isDefault: boolean
  readonly note?: 'ignored'
}

/** Everything in force, options in the order of the table, then the open sections, then what is ignored. */
export function describeSettings(settings: Settings): readonly ShownSetting[] {
  return [...describeOptions(settings), ...describeOpen(settings), ...settings.ignored.map(describeIgnored)]
}

function describeOptions(settings: Settings): ShownSetting[] {
  return ROWS.map((row) => {
    const source = settings.find(row.section, row.key)?.source ?? { kind: 'default' }
    const text = row.option.codec.print(findValue(settings.values, row))
    return {
      name: row.name,
      value: isConcealed(row.option, text) ? MASK : text,
      source: renderSource(source),
      isDefault: source.kind === 'default',
    }
  })
}

function describeOpen({ admins, open }: Settings): ShownSetting[] {
  const show = (name: string, value: string, source: Assignment['source']): ShownSetting => ({
    name,
    value,
    source: renderSource(source),
    isDefault: false,
  })
  return [
    ...admins.map(({ name, source }) => show(`admins.${name}`, MASK, source)),
    ...open.jwt_keys.map(({ key, source }) => show(`jwt_keys.${key}`, MASK, source)),
    ...open.services.map(({ key, text, source }) => show(`services.${key}`, text, source)),
  ]
}

function describeIgnored(entry: Assignment): ShownSetting {
  const name = `${entry.section}.${entry.key}`
  return { name, value: toShownText(entry), source: renderSource(entry.source), isDefault: false, note: 'ignored' }
}

/** The text of a setting as it was given, or the mask where it is a secret or sounds like one. */
export function toShownText({ section, key, text }: Pick<Assignment, 'section' | 'key' | 'text'>): string {
  if (section === 'jwt_keys' || section === 'admins') return MASK
  const row = findOption(section, key)
  // the place of a secret is hidden like the secret itself
  const isHidden = row
    ? isConcealed(row.option, text) || (row.option.secret && isFileReference(text))
    : soundsSecret(key)
  return isHidden ? MASK : text
}

/** Sentences for the log of a start: what was given and has no effect. */
export function renderNotices({ ignored }: Settings): readonly string[] {
  const names = [...new Set(ignored.map(({ section, key }) => `[${section}] ${key}`))]
  return names.length > 0 ? [`ignored, because Cardea does not use it: ${names.join(', ')}`] : []
}
