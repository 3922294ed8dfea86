// Access tokens of the signed-in user: extra passwords for programs. The text is shown once.
import { nowSeconds } from '../../../base/clock.ts'
import { badRequest, Refusal } from '../../../base/errors.ts'
import {
  createAccessToken,
  isTokenActive,
  toTokenMark,
  withoutToken,
  withToken,
} from '../../../directory/access-token.ts'
import { checkWord } from '../../../directory/users/names.ts'
import type { AccessToken, User } from '../../../directory/users/user.ts'
import { type Call, CURRENT_PASSWORD, type OperationDeps, operation, PROOF, requireAccountName } from '../operation.ts'
import { type AccessTokenView, TOKEN, TOKEN_MEMBERS } from '../schemas/account.ts'
import { listOf, object, oneOf, type Static, text } from '../schemas/schema.ts'
import { requireExistingUser, requireManagedUser, toManager } from './delegation.ts'
import { requireTime } from './user-input.ts'

const NEW_TOKEN = object({
  name: text(),
  expires: text('A day or a time in UTC, as 2030-12-31T18:00:00Z.'),
  'databases?': listOf(text(), 'The databases it is valid for. Without either list: everything.'),
  'services?': listOf(text()),
  'access?': oneOf(['ro'], 'It can only read these databases, at the document door. Absent: it can also write.'),
  ...CURRENT_PASSWORD,
})
type NewToken = Static<typeof NEW_TOKEN>

export const ACCOUNT_TOKEN_OPERATIONS = {
  'account.tokens': operation('GET /account/tokens', 'self', {
    summary: 'List your access tokens',
    reply: object({ tokens: listOf(TOKEN) }),
    async run(deps, call) {
      const name = requireAccountName(call)
      if (deps.directory.isAdministrator(name)) return { tokens: [] }
      return { tokens: await listTokens(deps, await requireExistingUser(deps, name)) }
    },
  }),
  'user.tokens': operation('GET /users/{name}/tokens', 'userAdmin', {
    summary: 'List the access tokens of a user',
    reply: object({ tokens: listOf(TOKEN) }),
    run: async (deps, call) => ({ tokens: await listTokens(deps, await requireManagedUser(deps, call)) }),
  }),
  'user.remove-token': operation('DELETE /users/{name}/tokens/{id}', 'userAdmin', {
    summary: 'Remove an access token of a user, by its name',
    reply: object({ name: text() }),
    async run(deps, call) {
      const { name: user = '', id: name = '' } = call.params
      await deps.directory.changeUser(user, toManager(deps, call), (before) => removeToken(before, name))
      return { name }
    },
  }),
  'account.create-token': operation('POST /account/tokens', 'self', {
    summary: 'Create an access token',
    body: NEW_TOKEN,
    reply: object({ ...TOKEN_MEMBERS, token: text('Its text. It is shown only once.') }),
    async run(deps, call) {
      const user = requireUserName(deps, call)
      const given = toToken(call.body)
      await call.requester?.requirePassword(call.body.current_password)
      const { text, token } = createAccessToken({ user, createdAt: nowSeconds(deps.clock), ...given })
      const changed = await deps.directory.changeUser(user, call.caller, (before) => withToken(before, token))
      const kept = changed.multiModel.tokens.find(({ digest }) => digest === token.digest)
      return { ...showToken(kept ?? { id: 0, ...token }, changed, token.createdAt), token: text }
    },
  }),
  'account.remove-token': operation('DELETE /account/tokens/{name}', 'self', {
    summary: 'Remove an access token',
    ...PROOF,
    reply: object({ name: text() }),
    async run(deps, call) {
      const user = requireUserName(deps, call)
      const name = call.params['name'] ?? ''
      await call.requester?.requirePassword(call.body.current_password)
      await deps.directory.changeUser(user, call.caller, (before) => removeToken(before, name))
      return { name }
    },
  }),
}

export async function listTokens({ directory, clock }: OperationDeps, user: User): Promise<readonly AccessTokenView[]> {
  const uses = await directory.listTokenUses(user.name)
  const now = nowSeconds(clock)
  return user.multiModel.tokens.map((token) => showToken(token, user, now, uses.get(toTokenMark(token))))
}

function removeToken(user: User, name: string): User {
  if (!user.multiModel.tokens.some((token) => token.name === name))
    throw new Refusal('not_found', { reason: 'There is no access token of this name.' })
  return withoutToken(user, (token) => token.name === name)
}

/** Administrators have no record for access tokens. */
function requireUserName({ directory }: OperationDeps, call: Call): string {
  const name = requireAccountName(call)
  if (!directory.isAdministrator(name)) return name
  throw new Refusal('forbidden', { reason: 'Administrators have no access tokens.' })
}

const showToken = (token: AccessToken, owner: User, now: number, usedAt?: number): AccessTokenView => ({
  name: token.name,
  createdAt: token.createdAt,
  expiresAt: token.validUntil,
  ...(usedAt !== undefined && { usedAt }),
  fingerprint: token.fingerprint,
  isActive: isTokenActive(token, owner, now),
  ...(token.databases && { databases: token.databases }),
  ...(token.services && { services: token.services }),
  ...(token.access && { access: token.access }),
})

function toToken(given: NewToken) {
  const { name, expires, access } = given
  const flaw = checkWord(name)
  if (flaw) throw badRequest(`name is not valid: ${flaw.replaceAll('_', ' ')}.`)
  const validUntil = requireTime(expires, 'expires')
  const [databases, services] = [findNames(given, 'databases'), findNames(given, 'services')]
  return { name, validUntil, ...(databases && { databases }), ...(services && { services }), ...(access && { access }) }
}

const MAX_LISTED = 100

/** An empty list is rejected: the token would be valid for nothing. */
function findNames(given: NewToken, key: 'databases' | 'services'): readonly string[] | undefined {
  const names = given[key]
  if (names === undefined) return undefined
  if (names.length >= 1 && names.length <= MAX_LISTED && !names.some((name) => checkWord(name)))
    return [...new Set(names)]
  throw badRequest(`${key} must be a list of 1 to ${MAX_LISTED} names.`)
}
