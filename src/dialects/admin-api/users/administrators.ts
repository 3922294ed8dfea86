import { badRequest, Refusal } from '../../../base/errors.ts'
import type { Administrator, NewAdministratorPassword } from '../../../directory/administrator-operations.ts'
import type { LastSignIn } from '../../../directory/store-port/sign-ins.ts'
import { describePassword, readAdminPassword } from '../../../passwords/schemes.ts'
import {
  type Call,
  CURRENT_PASSWORD,
  nameOf,
  type OperationDeps,
  operation,
  PROOF,
  requireOwnPassword,
} from '../operation.ts'
import { flag, listOf, object, type Static, text } from '../schemas/schema.ts'
import {
  ADMINISTRATOR,
  ADMINISTRATOR_MEMBERS,
  type AdministratorView,
  LISTED_ADMINISTRATOR,
  type ListedAdministratorView,
} from '../schemas/users.ts'
import { countSessions } from './sessions.ts'
import { showSignIn } from './users.ts'

const NEW_PASSWORD = {
  'password?': text('It is hashed before it is stored.'),
  'stored?': text('A password hash in the form of [admins], instead of the password.'),
}
const CHANGED_PASSWORD = object({ ...NEW_PASSWORD, ...CURRENT_PASSWORD })
type ChangedPassword = Static<typeof CHANGED_PASSWORD>

export const ADMINISTRATOR_OPERATIONS = {
  'admin.list': operation('GET /administrators', 'administrator', {
    summary: 'List administrators with their sign-ins',
    reply: object({ administrators: listOf(LISTED_ADMINISTRATOR) }),
    async run(deps) {
      const administrators = deps.directory.listAdministrators()
      const signIns = await deps.directory.findLastSignIns(administrators.map(({ name }) => name))
      return { administrators: await Promise.all(administrators.map((each) => showListed(deps, each, signIns))) }
    },
  }),
  'admin.add': operation('POST /administrators', 'administrator', {
    summary: 'Create an administrator; 409 if there is one of the name',
    body: object({ name: text(), ...NEW_PASSWORD }),
    reply: ADMINISTRATOR,
    async run({ directory }, { body, caller }) {
      const { name } = body
      const text = await directory.setAdministrator(name, caller, toPassword(body), { expected: 'new' })
      return showAdministrator(withFactors(directory, { name, text }))
    },
  }),
  'admin.set': operation('PUT /administrators/{name}', 'administrator', {
    summary: 'Create an administrator, or set the password of one that exists',
    body: CHANGED_PASSWORD,
    reply: ADMINISTRATOR,
    run: (deps, call) => setPassword(deps, call),
  }),
  'admin.set-password': operation('PUT /administrators/{name}/password', 'administrator', {
    // another administrator may have removed this one meanwhile: it must not come back
    summary: 'Set the password of an administrator; 404 if there is none of the name',
    body: CHANGED_PASSWORD,
    reply: ADMINISTRATOR,
    run: (deps, call) => setPassword(deps, call, 'existing'),
  }),
  'admin.remove': operation('DELETE /administrators/{name}', 'administrator', {
    summary: 'Remove an administrator',
    ...PROOF,
    reply: ADMINISTRATOR,
    async run({ directory }, call) {
      const name = nameOf(call)
      await requireOwnPassword(call, name, call.body.current_password)
      const removed = withFactors(directory, { name, text: '' })
      return showAdministrator({ ...removed, text: await directory.removeAdministrator(name, call.caller) })
    },
  }),
  'admin.reset-totp': operation('DELETE /administrators/{name}/totp', 'administrator', {
    summary: 'Remove the second factor of an administrator',
    ...PROOF,
    reply: object({ ...ADMINISTRATOR_MEMBERS, hadTotp: flag() }),
    async run({ directory }, call) {
      const name = nameOf(call)
      await requireOwnPassword(call, name, call.body.current_password)
      const before = directory.listAdministrators().find((each) => each.name === name)
      if (!before) throw new Refusal('not_found')
      await directory.removeTotp(name, call.caller)
      const { hasTotp = false, ...after } = before
      return { ...showAdministrator(after), hadTotp: hasTotp }
    },
  }),
}

async function setPassword({ directory }: OperationDeps, call: Call<unknown, ChangedPassword>, expected?: 'existing') {
  const name = nameOf(call)
  const password = toPassword(call.body)
  if (call.requester?.name === name) await call.requester.requireCurrentPassword(call.body.current_password)
  const text = await directory.setAdministrator(name, call.caller, password, expected && { expected })
  return showAdministrator(withFactors(directory, { name, text }))
}

const showListed = async (
  deps: OperationDeps,
  administrator: Administrator,
  signIns: ReadonlyMap<string, LastSignIn>,
): Promise<ListedAdministratorView> => ({
  ...showAdministrator(administrator),
  sessions: await countSessions(deps, administrator.name),
  lastSignIn: showSignIn(signIns.get(administrator.name)),
})

/** Adds which second factors the administrator has. */
const withFactors = (directory: OperationDeps['directory'], changed: Administrator): Administrator => ({
  ...directory.listAdministrators().find(({ name }) => name === changed.name),
  ...changed,
})

function showAdministrator({ name, text, hasTotp, passkeys }: Administrator): AdministratorView {
  const reading = readAdminPassword(text)
  return {
    name,
    password: reading.kind === 'stored' ? describePassword(reading.password) : null,
    totp: hasTotp ?? false,
    ...(passkeys && { passkeys }),
  }
}

function toPassword({ password, stored }: ChangedPassword): NewAdministratorPassword {
  if (stored !== undefined) return { stored }
  if (password !== undefined) return { password }
  throw badRequest('password is missing.')
}
