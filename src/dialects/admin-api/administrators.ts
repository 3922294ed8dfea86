import { Refusal } from '../../base/errors.ts'
import type { Administrator, NewAdministratorPassword } from '../../directory/directory.ts'
import { readAdminPassword } from '../../passwords/admin-password.ts'
import { describePassword } from '../../passwords/schemes.ts'
import { findText, readMembers, requireText } from './json.ts'
import { CURRENT_PASSWORD, type Operation, requireOwnPassword } from './operation.ts'
import { findCurrentPassword, nameOf } from './users.ts'

/** Without the hash. */
export interface ShownAdministrator {
  readonly name: string
  readonly password: string | null
}

export const ADMINISTRATOR_OPERATIONS = {
  'admin.list': {
    method: 'GET',
    path: '/administrators',
    run: ({ directory }) => ({ administrators: directory.listAdministrators().map(showAdministrator) }),
  },
  'admin.add': {
    method: 'POST',
    path: '/administrators',
    async run({ directory }, { body, signal }) {
      const members = readMembers(body, ['name', 'password', 'stored'])
      const name = requireText(members, 'name')
      const password = readPassword(members)
      if (directory.isAdministrator(name)) throw new Refusal('conflict')
      const text = await directory.setAdministrator(name, password, { ...(signal && { signal }) })
      return showAdministrator({ name, text })
    },
  },
  'admin.set': {
    method: 'PUT',
    path: '/administrators/{name}',
    async run({ directory }, call) {
      const name = nameOf(call)
      const members = readMembers(call.body, ['password', 'stored', CURRENT_PASSWORD])
      const password = readPassword(members)
      await requireOwnPassword(call, name, findText(members, CURRENT_PASSWORD))
      const { signal } = call
      const text = await directory.setAdministrator(name, password, { ...(signal && { signal }) })
      return showAdministrator({ name, text })
    },
  },
  'admin.remove': {
    method: 'DELETE',
    path: '/administrators/{name}',
    async run({ directory }, call) {
      const name = nameOf(call)
      await requireOwnPassword(call, name, findCurrentPassword(call))
      return showAdministrator({ name, text: await directory.removeAdministrator(name) })
    },
  },
} as const satisfies Record<string, Operation<unknown>>

function showAdministrator({ name, text }: Administrator): ShownAdministrator {
  const reading = readAdminPassword(text)
  return { name, password: reading.kind === 'stored' ? describePassword(reading.password) : null }
}

function readPassword(members: Readonly<Record<string, unknown>>): NewAdministratorPassword {
  const stored = findText(members, 'stored')
  return stored === undefined ? { password: requireText(members, 'password') } : { stored }
}
