// What a user may reach at each door, and why. The doors explain it themselves.
import { Refusal } from '../../../base/errors.ts'
import type { Account } from '../../../directory/account.ts'
import type { AccessRule, DoorAccess } from '../../../directory/door-access.ts'
import { checkWord, isExpired } from '../../../directory/users/user.ts'
import type { Call, Operation, OperationDeps } from '../operation.ts'
import { requireManagedName } from './delegation.ts'
import { nameOf } from './users.ts'

export interface ShownAccess {
  readonly name: string
  /** Whether the user can sign in at all. */
  readonly signIn: AccessRule
  /** Empty if the user cannot sign in. */
  readonly doors: readonly DoorAccess[]
}

export const USER_ACCESS_OPERATIONS = {
  'user.access': {
    method: 'GET',
    path: '/users/{name}/access',
    allowed: 'userAdmin',
    async run(deps, call): Promise<ShownAccess> {
      const name = nameOf(call)
      await requireManagedName(deps, call, name)
      const database = readDatabase(call)
      const account = await deps.directory.findAccount(name)
      const signIn = await explainSignIn(deps, name, account)
      return { name, signIn, doors: account ? deps.explainAccess(account, database) : [] }
    },
  },
} as const satisfies Record<string, Operation<unknown>>

function readDatabase({ query }: Call): string {
  const database = query.get('database') ?? ''
  if (database === '' || !checkWord(database)) return database || '_system'
  throw new Refusal('bad_request', { about: 'database is not a valid name.' })
}

async function explainSignIn(
  { directory }: OperationDeps,
  name: string,
  account: Account | undefined,
): Promise<AccessRule> {
  const what = 'sign in'
  if (account?.isAdmin) return { what, isAllowed: true, because: 'The account is an administrator.' }
  if (account?.mustChangePassword)
    return { what, isAllowed: true, because: 'Only to change the password: everything else is rejected until then.' }
  if (account) return { what, isAllowed: true, because: 'The user is active.' }
  const user = await directory.findUser(name)
  if (!user) throw new Refusal('not_found')
  const hasExpired = isExpired(user, Math.floor(Date.now() / 1000))
  return {
    what,
    isAllowed: false,
    because: user.isActive && hasExpired ? 'The user has expired.' : 'The user is disabled.',
  }
}
