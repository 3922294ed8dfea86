// Options and their values: what is set where, and changes at run time.
import { Refusal } from '../../base/errors.ts'
import { FLAG, findArgument, readMembers, requireText } from './json.ts'
import type { Call, Operation } from './operation.ts'

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
  'option.list': { method: 'GET', path: '/options', run: ({ settings }) => settings.listOptions() },
} as const satisfies Record<string, Operation<unknown>>

/** Administrators have operations of their own, which store a hash instead of the password. */
function readOption({ params }: Call): { readonly section: string; readonly key: string } {
  const { section = '', key = '' } = params
  if (section === 'admins')
    throw new Refusal('forbidden', { about: 'Administrators are not settings: use /administrators.' })
  return { section, key }
}
