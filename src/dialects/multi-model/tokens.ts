import { badRequest, Refusal } from '../../base/errors.ts'
import { findMember, type Members } from '../../base/json.ts'
import { createAccessToken, isTokenActive, toTokenMark, withoutToken, withToken } from '../../directory/access-token.ts'
import { checkWord } from '../../directory/users/names.ts'
import type { AccessToken, User } from '../../directory/users/user.ts'
import { CLIENTS, isSelf } from './access.ts'
import { readMembers } from './body.ts'
import { bindDeps, type MultiModelDeps, type MultiModelHandler } from './deps.ts'
import { toEmptyReply, toMultiModelReply } from './reply.ts'
import { MULTI_MODEL_RIGHTS, type MultiModelRoute } from './rights.ts'
import { orUserNotFound, requireMultiModelUser } from './users/input.ts'
import { rejectParts } from './users/routes.ts'

/** Access tokens: extra passwords users give to their programs. */
export function tokensRoutes(deps: MultiModelDeps): readonly MultiModelRoute[] {
  const by = bindDeps(deps)
  const { server, ownUser: right } = MULTI_MODEL_RIGHTS
  const { reader, tokenOwner } = CLIENTS
  return [
    {
      path: '/_api/token',
      right: server,
      methods: { GET: missing('user'), POST: missing('user'), DELETE: missing('user') },
    },
    {
      path: '/_api/token/{user}',
      right,
      methods: { GET: by(reader, listTokens), POST: by(tokenOwner, createToken), DELETE: missing('id') },
    },
    { path: '/_api/token/{user}/{id}', right, methods: { DELETE: by(tokenOwner, removeToken) } },
    { path: '/_api/token/{user}/{...}', right, handle: rejectParts },
  ]
}

const missing = (name: string) => (): never => {
  throw new Refusal('bad_parameter', { reason: `path parameter '${name}' is missing` })
}

const listTokens: MultiModelHandler = async (deps, _context, { user: name = '' }) => {
  if (deps.directory.isAdministrator(name)) return toMultiModelReply(200, { tokens: [] })
  const user = await requireMultiModelUser(deps.directory, name)
  const uses = await deps.directory.listTokenUses(name)
  const tokens = user.multiModel.tokens.map((token) => {
    const usedAt = uses.get(toTokenMark(token))
    return { ...describeToken(token, user, deps.nowSeconds()), ...(usedAt !== undefined && { last_used: usedAt }) }
  })
  return toMultiModelReply(200, { tokens })
}

/** Without the text of the token, which is shown only once, in the reply that creates it. */
const describeToken = (token: AccessToken, owner: Pick<User, 'sessionEpoch'>, nowSeconds: number): object => ({
  id: token.id,
  name: token.name,
  valid_until: token.validUntil,
  created_at: token.createdAt,
  fingerprint: token.fingerprint,
  active: isTokenActive(token, owner, nowSeconds),
  ...(token.databases && { databases: token.databases }),
  ...(token.services && { services: token.services }),
  ...(token.access && { access: token.access }),
})

const createToken: MultiModelHandler = async (deps, context, { user = '' }) => {
  if (isSelf(context, user)) await deps.requirePassword(context)
  const members = await readMembers(context)
  requireKnownMembers(members)
  const name = readName(members)
  const databases = findList(members, 'databases')
  const services = findList(members, 'services')
  const now = deps.nowSeconds()
  const { text, token } = createAccessToken({
    user,
    name,
    createdAt: now,
    validUntil: readValidUntil(members),
    ...(databases && { databases }),
    ...(services && { services }),
    ...readAccess(members),
  })
  const changed = await orUserNotFound(deps.directory.changeUser(user, context, (before) => withToken(before, token)))
  const kept = changed.multiModel.tokens.find(({ digest }) => digest === token.digest)
  // it may have been deleted already, but it was created
  return toMultiModelReply(200, { ...describeToken(kept ?? { id: 0, ...token }, changed, now), token: text })
}

const MEMBERS: ReadonlySet<string> = new Set(['name', 'valid_until', 'databases', 'services', 'access'])

/** A misspelt limit would otherwise create a token without limits. */
function requireKnownMembers(members: Members): void {
  const unknown = Object.keys(members).find((member) => !MEMBERS.has(member))
  if (unknown !== undefined) throw badRequest(`unknown member '${unknown.slice(0, 100)}'`)
}

function readName(members: Members): string {
  const name = findMember(members, 'name') ?? ''
  if (name === '') throw badRequest("'name' must not be empty")
  const flaw = typeof name === 'string' ? checkWord(name) : 'not_text'
  if (typeof name !== 'string' || flaw) throw badRequest(`invalid 'name': ${flaw?.replaceAll('_', ' ')}`)
  return name
}

/** The last second of the year 9999. Milliseconds are later, for every time after January 1978. */
const MAX_SECONDS = 253_402_300_799

function readValidUntil(members: Members): number {
  const until = findMember(members, 'valid_until')
  if (typeof until !== 'number') return 0
  const seconds = Math.trunc(until)
  if (!(seconds >= 0 && seconds <= MAX_SECONDS))
    throw badRequest("'valid_until' must be a time in seconds since 1970, not later than the year 9999")
  return seconds
}

const MAX_LISTED = 100

/** A list that limits the token. An empty one is rejected: the token would be valid for nothing. */
function findList(members: Members, key: 'databases' | 'services'): readonly string[] | undefined {
  const list = findMember(members, key) ?? null
  if (list === null) return undefined
  const isValid = Array.isArray(list) && list.every((item) => typeof item === 'string' && !checkWord(item))
  if (!isValid || list.length === 0 || list.length > MAX_LISTED)
    throw badRequest(`'${key}' must be a list of 1 to ${MAX_LISTED} names`)
  return [...new Set<string>(list)]
}

function readAccess(members: Members): Pick<AccessToken, 'access'> {
  const access = findMember(members, 'access') ?? null
  if (access === null) return {}
  if (access === 'ro') return { access }
  throw badRequest("'access' must be 'ro'")
}

const removeToken: MultiModelHandler = async (deps, context, { user = '', id = '' }) => {
  if (isSelf(context, user)) await deps.requirePassword(context)
  if (!/^\d{1,15}$/.test(id)) throw new Refusal('bad_parameter', { reason: "path parameter 'id' is not a number" })
  const without = (before: User) => withoutToken(before, (token) => token.id === Number(id))
  await orUserNotFound(deps.directory.changeUser(user, context, without))
  return toEmptyReply(200)
}
