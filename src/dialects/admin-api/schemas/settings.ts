import type { OperationName } from '../operations.ts'
import { type Description, flag, listOf, named, object, oneOf, text } from './schema.ts'

const SETTING = named(
  'Setting',
  object({
    name: text(),
    value: text('Secrets are masked.'),
    source: text('File and line, variable, flag, `run time` or `default`.'),
    isDefault: flag(),
    'note?': oneOf(['ignored']),
  }),
)

const CHANGE = named(
  'SettingChange',
  object({
    name: text(),
    previous: text('Secrets are masked; empty: there was none.'),
    value: text('Secrets are masked.'),
    needsRestart: flag(),
    warnings: listOf(text(), 'New warnings about the configuration.'),
  }),
)

export const SETTING_DESCRIPTIONS = {
  'setting.list': { summary: 'List all settings, including defaults', reply: object({ settings: listOf(SETTING) }) },
  'setting.set': {
    summary: 'Set an option at run time, for every node',
    body: object({
      value: text(),
      'now?': flag('For chttpd_auth.secret: reject cookies signed with earlier secrets at once.'),
    }),
    reply: CHANGE,
  },
  'setting.unset': {
    summary: 'Remove the value made at run time, so that files, environment and defaults apply',
    reply: CHANGE,
  },
} as const satisfies Partial<Record<OperationName, Description>>
