// What the API shows of options and secrets. Values that are secret are masked.
import { flag, integer, listOf, namedObject, nullable, object, oneOf, type Static, text } from './schema.ts'

const SETTING = namedObject('Setting', {
  name: text(),
  value: text('Secrets are masked.'),
  source: text('File and line, variable, flag, `run time` or `default`.'),
  isDefault: flag(),
  'note?': oneOf(['ignored']),
})
export type SettingView = Static<typeof SETTING>

export const SETTINGS = object({ settings: listOf(SETTING) })

export const SETTING_CHANGE = namedObject('SettingChange', {
  name: text(),
  previous: text('Secrets are masked; empty: there was none.'),
  value: text('Secrets are masked.'),
  undo: nullable(
    oneOf(['set', 'unset']),
    'How to undo the change: set `previous`, or remove the new value. null: `previous` is a masked secret.',
  ),
  needsRestart: flag(),
  warnings: listOf(text(), 'New warnings about the configuration.'),
})
export type SettingChangeView = Static<typeof SETTING_CHANGE>

export const SETTING_PREVIEW = namedObject('SettingPreview', {
  name: text(),
  current: text('Secrets are masked.'),
  value: nullable(text(), 'Secrets are masked.'),
  problems: listOf(text(), 'Why the change would be refused; empty: it would be made.'),
  effects: listOf(text(), 'What the change does.'),
  needsRestart: flag(),
})
export type SettingPreviewView = Static<typeof SETTING_PREVIEW>

const OPTION = namedObject('Option', {
  name: text(),
  section: text(),
  key: text(),
  help: text(),
  'details?': text(),
  expects: text('What is accepted, in words.'),
  type: oneOf(['boolean', 'list', 'choice', 'text']),
  'choices?': listOf(text(), 'For the type `choice`.'),
  default: text(),
  value: text('The configured value; secrets are masked as `***`.'),
  source: object({
    kind: oneOf(['default', 'file', 'run time', 'environment', 'flag']),
    text: text('File and line, variable, flag, `run time` or `default`.'),
  }),
  'changedAt?': integer('When it was set at run time, in seconds since the epoch.'),
  'changedBy?': text('Who set it at run time, if the audit trail knows.'),
  isSecret: flag(),
  effect: oneOf(['live', 'restart'], 'When a change takes effect.'),
  'running?': text('The value in use, where the configured one waits for a restart.'),
  'fixed?': text('Why it cannot be changed at run time, as a clause after "because"; absent: it can.'),
})
export type ServerOptionView = Static<typeof OPTION>

export const OPTION_LIST = object({
  sections: listOf(object({ name: text(), help: text() })),
  options: listOf(OPTION),
})
export type OptionListView = Static<typeof OPTION_LIST>

const KEY = object({
  hashPrefix: text('The beginning of the SHA-256 of the secret; of the audit key, of its public half.'),
  isActive: flag('Whether it signs. The others only verify.'),
  algorithm: text(),
  'file?': text('Name of the file.'),
  'ageSeconds?': integer('Since the file or the setting was changed; absent: not known.'),
})

const RING = namedObject('KeyRing', {
  option: text('The option that names the secrets.'),
  use: text('What they are for.'),
  source: text('The file or folder, or where the option is set.'),
  reloadable: flag('Whether a reload reads them again.'),
  problem: nullable(text(), 'Why the last reload failed; the previous secrets are in use then.'),
  keys: listOf(KEY, 'The secret that signs comes first.'),
})
export type KeyRingView = Static<typeof RING>

export const SECRET_LIST = object({ rings: listOf(RING) })
export type SecretListView = Static<typeof SECRET_LIST>

export const RELOADED = object({ reloaded: listOf(object({ option: text(), problem: nullable(text()) })) })
