// Access tokens of the signed-in user: extra passwords for programs. The text is shown once.
import { Refusal } from '../../../base/errors.ts'
import {
  createAccessToken,
  isTokenActive,
  toTokenMark,
  withoutToken,
  withToken,
} from '../../../directory/access-token.ts'
import { type AccessToken, checkWord, type User } from '../../../directory/users/user.ts'
import { findArgument, findText, type Members, readMembers, requireText, TEXT_LIST } from '../json.ts'
import { type Call, CURRENT_PASSWORD, type Operation, type OperationDeps, requireAccountName } from '../operation.ts'
import { EXPIRES, readExpiry } from './user-input.ts'
import { findCurrentPassword } from './users.ts'

/** Times are seconds since the epoch. */
export interface ShownToken extends Pick<AccessToken, 'name' | 'createdAt' | 'fingerprint' | 'databases' | 'services'> {
  readonly expiresAt: number
  /** Exact to the minute; absent: it was not used yet. */
  readonly usedAt?: number
  readonly isActive: boolean
}

export const ACCOUNT_TOKEN_OPERATIONS = {
  'account.tokens': {
    method: 'GET',
    path: '/account/tokens',
    allowed: 'self',
    async run(deps, call) {
      const name = requireAccountName(call)
      if (deps.directory.isAdministrator(name)) return { tokens: [] }
      const user = await requireOwner(deps, name)
      const uses = await deps.directory.listTokenUses(name)
      return { tokens: user.multiModel.tokens.map((token) => showToken(token, user, uses.get(toTokenMark(token)))) }
    },
  },
  'account.create-token': {
    method: 'POST',
    path: '/account/tokens',
    allowed: 'self',
    async run(deps, call) {
      const user = requireUserName(deps, call)
      const members = readMembers(call.body, ['name', EXPIRES, 'databases', 'services', CURRENT_PASSWORD])
      const given = readToken(members)
      await call.caller?.requirePassword(findText(members, CURRENT_PASSWORD))
      const { text, token } = createAccessToken({ user, createdAt: nowSeconds(), ...given })
      const changed = await deps.directory.changeUser(user, (before) => withToken(before, token))
      const kept = changed.multiModel.tokens.find(({ digest }) => digest === token.digest)
      return { ...showToken(kept ?? { id: 0, ...token }, changed), token: text }
    },
  },
  'account.remove-token': {
    method: 'DELETE',
    path: '/account/tokens/{name}',
    allowed: 'self',
    async run(deps, call) {
      const user = requireUserName(deps, call)
      const name = call.params['name'] ?? ''
      await call.caller?.requirePassword(findCurrentPassword(call))
      await deps.directory.changeUser(user, (before) => {
        if (!before.multiModel.tokens.some((token) => token.name === name))
          throw new Refusal('not_found', { about: 'You have no access token of this name.' })
        return withoutToken(before, (token) => token.name === name)
      })
      return { name }
    },
  },
} as const satisfies Record<string, Operation<unknown>>

const nowSeconds = (): number => Math.floor(Date.now() / 1000)

/** Administrators have no record for access tokens. */
function requireUserName({ directory }: OperationDeps, call: Call): string {
  const name = requireAccountName(call)
  if (!directory.isAdministrator(name)) return name
  throw new Refusal('forbidden', { about: 'Administrators have no access tokens.' })
}

async function requireOwner({ directory }: OperationDeps, name: string): Promise<User> {
  const user = await directory.findUser(name)
  if (!user) throw new Refusal('not_found')
  return user
}

const showToken = (token: AccessToken, owner: User, usedAt?: number): ShownToken => ({
  name: token.name,
  createdAt: token.createdAt,
  expiresAt: token.validUntil,
  ...(usedAt !== undefined && { usedAt }),
  fingerprint: token.fingerprint,
  isActive: isTokenActive(token, owner, nowSeconds()),
  ...(token.databases && { databases: token.databases }),
  ...(token.services && { services: token.services }),
})

const bad = (about: string): Refusal => new Refusal('bad_request', { about })

function readToken(members: Members) {
  const name = requireText(members, 'name')
  const flaw = checkWord(name)
  if (flaw) throw bad(`name is not valid: ${flaw.replaceAll('_', ' ')}.`)
  const validUntil = readExpiry(members)
  if (validUntil === undefined) throw bad('expires is missing.')
  const [databases, services] = [findNames(members, 'databases'), findNames(members, 'services')]
  return { name, validUntil, ...(databases && { databases }), ...(services && { services }) }
}

const MAX_LISTED = 100

/** An empty list is rejected: the token would be valid for nothing. */
function findNames(members: Members, key: string): readonly string[] | undefined {
  const names = findArgument(members, key, TEXT_LIST)
  if (names === undefined) return undefined
  if (names.length >= 1 && names.length <= MAX_LISTED && !names.some((name) => checkWord(name)))
    return [...new Set(names)]
  throw bad(`${key} must be a list of 1 to ${MAX_LISTED} names.`)
}
