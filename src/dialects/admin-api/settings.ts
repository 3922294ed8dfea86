import { Refusal } from '../../base/errors.ts'
import { findArgument, isFlag, readMembers, requireText } from './arguments.ts'
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
      const { section, key } = readPlace(call)
      const members = readMembers(call.body, ['value', 'now'])
      const isImmediate = findArgument(members, 'now', isFlag, 'true or false') ?? false
      return settings.set(section, key, requireText(members, 'value'), { isImmediate })
    },
  },
  'setting.unset': {
    method: 'DELETE',
    path: '/settings/{section}/{key}',
    async run({ settings }, call) {
      const { section, key } = readPlace(call)
      return settings.unset(section, key)
    },
  },
} as const satisfies Record<string, Operation<unknown>>

/** Administrators have operations of their own: as a setting, a password would be stored in clear. */
function readPlace({ params }: Call): { readonly section: string; readonly key: string } {
  const { section = '', key = '' } = params
  if (section === 'admins')
    throw new Refusal('forbidden', { about: 'Administrators are no settings: see administrators.' })
  return { section, key }
}
