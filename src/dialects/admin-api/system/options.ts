// Options and their values: what is set where, and changes at run time.
import { Refusal } from '../../../base/errors.ts'
import { type Call, type OperationDeps, operation } from '../operation.ts'
import { flag, nullable, object, text } from '../schemas/schema.ts'
import { OPTION_LIST, SETTING_CHANGE, SETTING_PREVIEW, SETTINGS, type ServerOptionView } from '../schemas/settings.ts'

export const SETTING_OPERATIONS = {
  'setting.list': operation('GET /settings', 'administrator', {
    summary: 'List all settings, including defaults',
    reply: SETTINGS,
    run: ({ settings }) => ({ settings: settings.list() }),
  }),
  'setting.set': operation('PUT /settings/{section}/{key}', 'administrator', {
    summary: 'Set an option at run time, for every node',
    body: object({
      value: text(),
      'expected?': text('The value that the change is based on. 409 if another one is configured.'),
      'now?': flag('For chttpd_auth.secret: reject cookies signed with earlier secrets at once.'),
    }),
    reply: SETTING_CHANGE,
    async run({ settings }, call) {
      const { section, key } = readOption(call)
      const { value, expected, now: isImmediate = false } = call.body
      return settings.set({ section, key, text: value }, call.caller, { isImmediate, expected })
    },
  }),
  'setting.unset': operation('DELETE /settings/{section}/{key}', 'administrator', {
    summary: 'Remove the value made at run time, so that files, environment and defaults apply',
    reply: SETTING_CHANGE,
    async run({ settings }, call) {
      const { section, key } = readOption(call)
      return settings.unset(section, key, call.caller)
    },
  }),
  'setting.preview': operation('POST /settings/{section}/{key}/preview', 'administrator', {
    summary: 'Check a change of an option and describe its effects, without making it',
    body: object({ value: nullable(text(), 'null: remove the value made at run time.') }),
    reply: SETTING_PREVIEW,
    run({ settings }, call) {
      const { section, key } = readOption(call)
      return settings.preview({ section, key, text: call.body.value ?? undefined }, call.caller)
    },
  }),
  'option.list': operation('GET /options', 'administrator', {
    summary: 'List every option with its help, default, value and source',
    reply: OPTION_LIST,
    async run({ settings, audit }) {
      const { sections, options } = await settings.listOptions()
      const authors = await listAuthors(audit)
      return { sections, options: options.map((option) => withAuthor(option, authors.get(option.name))) }
    },
  }),
}

/** Administrators have operations of their own, which store a hash instead of the password. */
function readOption({ params }: Call): { readonly section: string; readonly key: string } {
  const { section = '', key = '' } = params
  if (section === 'admins')
    throw new Refusal('forbidden', { reason: 'Administrators are not settings: use /administrators.' })
  return { section, key }
}

const MAX_CHANGES = 1000

/** Who changed each option last, as far as the newest records of the audit trail show. */
async function listAuthors(audit: OperationDeps['audit']): Promise<ReadonlyMap<string, string>> {
  const range = { event: 'option.changed', order: 'newest', limit: MAX_CHANGES } as const
  // the options are shown even if the trail cannot be read
  const records = await audit.list(range).catch(() => [])
  const authors = new Map<string, string>()
  for (const { fields } of records) {
    const { option, actor } = fields
    if (typeof option === 'string' && typeof actor === 'string' && !authors.has(option)) authors.set(option, actor)
  }
  return authors
}

/** Only a value that was set at run time has an author. */
const withAuthor = (option: ServerOptionView, author: string | undefined): ServerOptionView =>
  option.changedAt === undefined || author === undefined ? option : { ...option, changedBy: author }
