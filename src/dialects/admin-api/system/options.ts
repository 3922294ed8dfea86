// Options and their values: what is set where, and changes at run time.
import { Refusal } from '../../../base/errors.ts'
import { FLAG, findArgument, readMembers, requireText } from '../json.ts'
import type { Call, Operation, OperationDeps } from '../operation.ts'
import type { ShownOption } from './settings-editor.ts'

export const SETTING_OPERATIONS = {
  'setting.list': {
    method: 'GET',
    path: '/settings',
    run: ({ settings }) => ({ settings: settings.list() }),
  },
  'setting.set': {
    method: 'PUT',
    path: '/settings/{section}/{key}',
    async run({ settings }, call) {
      const { section, key } = readOption(call)
      const members = readMembers(call.body, ['value', 'now'])
      const isImmediate = findArgument(members, 'now', FLAG) ?? false
      return settings.set({ section, key, text: requireText(members, 'value') }, { isImmediate })
    },
  },
  'setting.unset': {
    method: 'DELETE',
    path: '/settings/{section}/{key}',
    async run({ settings }, call) {
      const { section, key } = readOption(call)
      return settings.unset(section, key)
    },
  },
  'setting.preview': {
    method: 'POST',
    path: '/settings/{section}/{key}/preview',
    run({ settings }, call) {
      const { section, key } = readOption(call)
      const { value } = readMembers(call.body, ['value'])
      if (value !== null && typeof value !== 'string')
        throw new Refusal('bad_request', { about: 'value must be a string, or null to remove the run-time value.' })
      return settings.preview({ section, key, text: value ?? undefined })
    },
  },
  'option.list': {
    method: 'GET',
    path: '/options',
    async run({ settings, audit }) {
      const { sections, options } = await settings.listOptions()
      const authors = await listAuthors(audit)
      return { sections, options: options.map((option) => withAuthor(option, authors.get(option.name))) }
    },
  },
} as const satisfies Record<string, Operation<unknown>>

/** Administrators have operations of their own, which store a hash instead of the password. */
function readOption({ params }: Call): { readonly section: string; readonly key: string } {
  const { section = '', key = '' } = params
  if (section === 'admins')
    throw new Refusal('forbidden', { about: 'Administrators are not settings: use /administrators.' })
  return { section, key }
}

const MAX_CHANGES = 1000

/** Who changed each option last, as far as the newest records of the audit trail show. */
async function listAuthors(audit: OperationDeps['audit']): Promise<ReadonlyMap<string, string>> {
  const range = { event: 'option.changed', order: 'newest', limit: MAX_CHANGES } as const
  // the options are shown even if the trail cannot be read
  const records = await audit.list({ ...EVERYTHING, ...range }).catch(() => [])
  const authors = new Map<string, string>()
  for (const { fields } of records) {
    const { option, actor } = fields
    if (typeof option === 'string' && typeof actor === 'string' && !authors.has(option)) authors.set(option, actor)
  }
  return authors
}

const EVERYTHING = { user: undefined, outcome: undefined, sinceMs: undefined, untilMs: undefined, after: undefined }

/** Only a value that was set at run time has an author. */
const withAuthor = (option: ShownOption, author: string | undefined): ShownOption & { readonly changedBy?: string } =>
  option.changedAt === undefined || author === undefined ? option : { ...option, changedBy: author }
