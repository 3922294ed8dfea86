// What a user may reach at each door, and why. The doors explain it themselves.
import { badRequest } from '../../../base/errors.ts'
import type { Account } from '../../../directory/account.ts'
import type { AccessRule } from '../../../directory/door-access.ts'
import { SYSTEM_DATABASE } from '../../../directory/grants.ts'
import { checkWord } from '../../../directory/users/names.ts'
import { isExpired } from '../../../directory/users/user.ts'
import { type OperationDeps, operation } from '../operation.ts'
import { object, text } from '../schemas/schema.ts'
import { ACCESS_REPORT } from '../schemas/users.ts'
import { requireManagedName, requireUser } from './delegation.ts'
import { nameOf } from './users.ts'

export const USER_ACCESS_OPERATIONS = {
  'user.access': operation('GET /users/{name}/access', 'userAdmin', {
    summary: 'Show what a user may reach at each door, and why',
    query: object({ 'database?': text(`${SYSTEM_DATABASE} if it is left out.`) }),
    reply: ACCESS_REPORT,
    async run(deps, call) {
      const name = nameOf(call)
      await requireManagedName(deps, call, name)
      const database = call.query.database || SYSTEM_DATABASE
      if (checkWord(database)) throw badRequest('database is not a valid name.')
      const account = await deps.directory.findAccount(name)
      const signIn = await explainSignIn(deps, name, account)
      return { name, signIn, doors: account ? deps.explainAccess(account, database) : [] }
    },
  }),
}

async function explainSignIn(deps: OperationDeps, name: string, account: Account | undefined): Promise<AccessRule> {
  const what = 'sign in'
  if (account?.mustSetUpFactor)
    return { what, isAllowed: true, because: 'Only to set up a second factor: everything else is rejected until then.' }
  if (account?.isAdmin) return { what, isAllowed: true, because: 'The account is an administrator.' }
  if (account?.mustChangePassword)
    return { what, isAllowed: true, because: 'Only to change the password: everything else is rejected until then.' }
  if (account) return { what, isAllowed: true, because: 'The user is active.' }
  const user = await requireUser(deps, name)
  const hasExpired = isExpired(user, Math.floor(Date.now() / 1000))
  return {
    what,
    isAllowed: false,
    because: user.isActive && hasExpired ? 'The user has expired.' : 'The user is disabled.',
  }
}
