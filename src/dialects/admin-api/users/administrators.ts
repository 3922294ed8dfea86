import { Refusal } from '../../../base/errors.ts'
import type {
  Administrator,
  AdministratorDirectory,
  NewAdministratorPassword,
} from '../../../directory/account-directory.ts'
import type { LastSignIn } from '../../../directory/store-port/sign-ins.ts'
import { readAdminPassword } from '../../../passwords/admin-password.ts'
import { describePassword } from '../../../passwords/schemes.ts'
import { findText, readMembers, requireText } from '../json.ts'
import { type Call, CURRENT_PASSWORD, type Operation, type OperationDeps, requireOwnPassword } from '../operation.ts'
import { type ShownSignIn, showSignIn } from './last-sign-in.ts'
import { countSessions } from './sessions.ts'
import { findCurrentPassword, nameOf } from './users.ts'

/** Without the hash. */
export interface ShownAdministrator {
  readonly name: string
  readonly password: string | null
  /** Whether the administrator needs a one-time code. */
  readonly totp: boolean
}

export interface ListedAdministrator extends ShownAdministrator {
  /** Live sessions. The store keeps at most 1000 of a name. */
  readonly sessions: number
  readonly lastSignIn: ShownSignIn | null
}

export const ADMINISTRATOR_OPERATIONS = {
  'admin.list': {
    method: 'GET',
    path: '/administrators',
    async run(deps) {
      const administrators = deps.directory.listAdministrators()
      const signIns = await deps.directory.findLastSignIns(administrators.map(({ name }) => name))
      return { administrators: await Promise.all(administrators.map((each) => showListed(deps, each, signIns))) }
    },
  },
  'admin.add': {
    method: 'POST',
    path: '/administrators',
    async run({ directory }, { body, signal }) {
      const members = readMembers(body, ['name', 'password', 'stored'])
      const name = requireText(members, 'name')
      const password = readPassword(members)
      const text = await directory.setAdministrator(name, password, { ...(signal && { signal }), expected: 'new' })
      return showAdministrator(withTotp(directory, { name, text }))
    },
  },
  'admin.set': {
    method: 'PUT',
    path: '/administrators/{name}',
    run: (deps, call) => setPassword(deps, call),
  },
  'admin.set-password': {
    method: 'PUT',
    path: '/administrators/{name}/password',
    // another administrator may have removed this one meanwhile: it must not come back
    run: (deps, call) => setPassword(deps, call, 'existing'),
  },
  'admin.remove': {
    method: 'DELETE',
    path: '/administrators/{name}',
    async run({ directory }, call) {
      const name = nameOf(call)
      await requireOwnPassword(call, name, findCurrentPassword(call))
      const removed = withTotp(directory, { name, text: '' })
      return showAdministrator({ ...removed, text: await directory.removeAdministrator(name) })
    },
  },
  'admin.reset-totp': {
    method: 'DELETE',
    path: '/administrators/{name}/totp',
    async run({ directory }, call) {
      const name = nameOf(call)
      await requireOwnPassword(call, name, findCurrentPassword(call))
      const before = directory.listAdministrators().find((each) => each.name === name)
      if (!before) throw new Refusal('not_found')
      await directory.removeTotp(name)
      return { ...showAdministrator({ name, text: before.text }), hadTotp: before.hasTotp ?? false }
    },
  },
} as const satisfies Record<string, Operation<unknown>>

async function setPassword(
  { directory }: OperationDeps,
  call: Call,
  expected?: 'existing',
): Promise<ShownAdministrator> {
  const name = nameOf(call)
  const members = readMembers(call.body, ['password', 'stored', CURRENT_PASSWORD])
  const password = readPassword(members)
  if (call.caller?.name === name) await call.caller.requireCurrentPassword(findText(members, CURRENT_PASSWORD))
  const { signal } = call
  const text = await directory.setAdministrator(name, password, {
    ...(signal && { signal }),
    ...(expected && { expected }),
  })
  return showAdministrator(withTotp(directory, { name, text }))
}

const showListed = async (
  deps: OperationDeps,
  administrator: Administrator,
  signIns: ReadonlyMap<string, LastSignIn>,
): Promise<ListedAdministrator> => ({
  ...showAdministrator(administrator),
  sessions: await countSessions(deps, administrator.name),
  lastSignIn: showSignIn(signIns.get(administrator.name)),
})

/** Adds whether the administrator has a second factor. */
const withTotp = (directory: Pick<AdministratorDirectory, 'listAdministrators'>, changed: Administrator) => {
  const hasTotp = directory.listAdministrators().some(({ name, hasTotp }) => hasTotp && name === changed.name)
  return { ...changed, ...(hasTotp && { hasTotp }) }
}

function showAdministrator({ name, text, hasTotp }: Administrator): ShownAdministrator {
  const reading = readAdminPassword(text)
  return {
    name,
    password: reading.kind === 'stored' ? describePassword(reading.password) : null,
    totp: hasTotp ?? false,
  }
}

function readPassword(members: Readonly<Record<string, unknown>>): NewAdministratorPassword {
  const stored = findText(members, 'stored')
  return stored === undefined ? { password: requireText(members, 'password') } : { stored }
}
