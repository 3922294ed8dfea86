import type { OperationName } from '../operations.ts'
import { type Description, flag, integer, listOf, named, nullable, object, oneOf, text } from './schema.ts'

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

export const CHANGE = named(
  'SettingChange',
  object({
    name: text(),
    previous: text('Secrets are masked; empty: there was none.'),
    value: text('Secrets are masked.'),
    undo: nullable(
      oneOf(['set', 'unset']),
      'How to undo the change: set `previous`, or remove the new value. null: `previous` is a masked secret.',
    ),
    needsRestart: flag(),
    warnings: listOf(text(), 'New warnings about the configuration.'),
  }),
)

const OPTION = named(
  'Option',
  object({
    name: text(),
    section: text(),
    key: text(),
    help: text(),
    'details?': text(),
    expects: text('What is accepted, in words.'),
    type: oneOf(['boolean', 'list', 'choice', 'text']),
    'choices?': listOf(text(), 'For the type `choice`.'),
    default: text(),
    value: text('The configured value; secrets are masked.'),
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
  'setting.preview': {
    summary: 'Check a change of an option and describe its effects, without making it',
    body: object({ value: nullable(text(), 'null: remove the value made at run time.') }),
    reply: object({
      name: text(),
      current: text('Secrets are masked.'),
      value: nullable(text(), 'Secrets are masked.'),
      problems: listOf(text(), 'Why the change would be refused; empty: it would be made.'),
      effects: listOf(text(), 'What the change does.'),
      needsRestart: flag(),
    }),
  },
  'option.list': {
    summary: 'List every option with its help, default, value and source',
    reply: object({ sections: listOf(object({ name: text(), help: text() })), options: listOf(OPTION) }),
  },
  'setting.unset': {
    summary: 'Remove the value made at run time, so that files, environment and defaults apply',
    reply: CHANGE,
  },
} as const satisfies Partial<Record<OperationName, Description>>
