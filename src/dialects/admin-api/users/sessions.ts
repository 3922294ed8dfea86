// Sessions of one account and of all: shows where they are from, and ends them.
import { nowSeconds } from '../../../base/clock.ts'
import { toBase64Url } from '../../../base/encoding.ts'
import { badRequest, Refusal } from '../../../base/errors.ts'
import { readJsonObject } from '../../../base/json.ts'
import type { Caller } from '../../../directory/caller.ts'
import type { SessionRecordPage } from '../../../directory/sessions/session-records.ts'
import {
  describeClient,
  MAX_SESSION_RECORDS,
  type SessionPosition,
  type SessionRecord,
} from '../../../directory/store-port/sessions.ts'
import {
  CURRENT_PASSWORD,
  type ManagedCall,
  nameOf,
  type OperationDeps,
  operation,
  PROOF,
  requireAccountName,
  requireOwnPassword,
} from '../operation.ts'
import {
  ENDED_PAGE,
  ENDED_SESSIONS,
  type ListedSessionView,
  MAX_LISTED_SESSIONS,
  SESSION_BATCH,
  SESSION_PAGE,
  SESSION_QUERY,
  SESSION_RECORD,
  SESSIONS,
  type SessionFilterView,
  type UserSessionView,
} from '../schemas/account.ts'
import { object, type Static } from '../schemas/schema.ts'
import { requireManagedName, toManager } from './delegation.ts'

export const SESSION_OPERATIONS = {
  'session.list': operation('GET /sessions', 'administrator', {
    summary: 'List the sessions of all users and administrators',
    query: SESSION_QUERY,
    reply: SESSION_PAGE,
    async run(deps, call) {
      const { sessions, next } = await readSessions(deps, call.query, call.query.limit ?? MAX_LISTED_SESSIONS)
      const show = (record: SessionRecord): ListedSessionView => ({
        name: record.name,
        isAdministrator: deps.directory.isAdministrator(record.name),
        client: describeClient(record.userAgent),
        ...showSession(record, call),
      })
      return { sessions: sessions.map(show), ...showNext(next) }
    },
  }),
  'session.end': operation('POST /sessions/end', 'administrator', {
    summary: `End these sessions, or up to ${MAX_LISTED_SESSIONS} that match, except the one of the request`,
    body: object({ ...SESSION_BATCH, ...CURRENT_PASSWORD }),
    reply: ENDED_PAGE,
    async run(deps, call) {
      const { ids = [], all: isAll = false, current_password: current, current_passkey: _signed, ...filter } = call.body
      if (isAll === ids.length > 0 || ids.length > MAX_LISTED_SESSIONS || (!isAll && Object.keys(filter).length > 0))
        throw badRequest(`Either ids of 1 to ${MAX_LISTED_SESSIONS} sessions, or all: true with or without a filter.`)
      const page = isAll ? await readSessions(deps, filter, MAX_LISTED_SESSIONS) : undefined
      const ending = new Set(page?.sessions.map((session) => session.id) ?? ids)
      const own = await listOwn(deps, call)
      if (own.some((id) => ending.has(id))) await call.requester?.requirePassword(current)
      let endedSessions = 0
      for (const id of ending) {
        if (call.caller.signal?.aborted) break
        if (id !== call.requester?.sessionId && (await deps.directory.revokeSession(id, call.caller)))
          endedSessions += 1
      }
      return { endedSessions, ...showNext(page?.next) }
    },
  }),
  'account.sessions': operation('GET /account/sessions', 'self', {
    summary: 'List your sessions',
    reply: SESSIONS,
    run: (deps, call) => showSessions(deps, call, requireAccountName(call)),
  }),
  'account.end-session': operation('DELETE /account/sessions/{id}', 'self', {
    summary: 'End one of your sessions; the current one needs no proof of the password',
    ...PROOF,
    reply: SESSION_RECORD,
    run: (deps, call) => endSession(deps, call, requireAccountName(call), call.caller),
  }),
  'account.end-other-sessions': operation('POST /account/sessions/end-others', 'self', {
    summary: 'End all your sessions except the current one',
    ...PROOF,
    reply: ENDED_SESSIONS,
    run: (deps, call) => endSessions(deps, call, requireAccountName(call), call.caller),
  }),
  'user.sessions': operation('GET /users/{name}/sessions', 'userAdmin', {
    summary: 'List the sessions of a user or administrator',
    reply: SESSIONS,
    run: async (deps, call) => showSessions(deps, call, await requireManagedAccount(deps, call)),
  }),
  'user.end-sessions': operation('DELETE /users/{name}/sessions', 'userAdmin', {
    summary: 'End all sessions of a user or administrator except the one of the request',
    ...PROOF,
    reply: ENDED_SESSIONS,
    run: async (deps, call) => endSessions(deps, call, await requireManagedAccount(deps, call), toManager(deps, call)),
  }),
  'user.end-session': operation('DELETE /users/{name}/sessions/{id}', 'userAdmin', {
    summary: 'End one session of a user or administrator',
    ...PROOF,
    reply: SESSION_RECORD,
    run: async (deps, call) => endSession(deps, call, await requireManagedAccount(deps, call), toManager(deps, call)),
  }),
}

/** Records of ended sessions stay until they expire. So many pages are read until one is full. */
const MAX_READS = 10

async function readSessions(
  { directory, clock }: OperationDeps,
  filter: SessionFilterView,
  limit: number,
): Promise<SessionRecordPage> {
  const { by = 'user', search: wanted, minAge, maxAge = Number.POSITIVE_INFINITY } = filter
  const now = nowSeconds(clock)
  const range = {
    ...(wanted && { search: { by, text: wanted } }),
    ...(minAge !== undefined && { openedBefore: now - minAge + 1 }),
    openedFrom: Math.max(0, now - maxAge),
  }
  const sessions: SessionRecord[] = []
  let next = filter.after === undefined ? undefined : readPosition(filter.after)
  for (let reads = 0; reads < MAX_READS; reads += 1) {
    const page = await directory.listSessions({
      ...range,
      ...(next && { after: next }),
      limit: limit - sessions.length,
    })
    sessions.push(...page.sessions)
    next = page.next
    if (!next || sessions.length === limit) break
  }
  return { sessions, next }
}

const showNext = (next: SessionRecordPage['next']) => (next ? { next: toBase64Url(JSON.stringify(next)) } : {})

function readPosition(text: string): SessionPosition {
  const { createdAt, id, key } = readJsonObject(Buffer.from(text, 'base64url').toString()) ?? {}
  if (Number.isSafeInteger(createdAt) && typeof id === 'string' && (key === undefined || typeof key === 'string'))
    return { createdAt: Number(createdAt), id, ...(key !== undefined && { key }) }
  throw badRequest('after must be the `next` of the previous page.')
}

/** The name in the path. Sessions of administrators can be shown and ended too. */
async function requireManagedAccount(deps: OperationDeps, call: ManagedCall): Promise<string> {
  const name = nameOf(call)
  await requireManagedName(deps, call, name)
  if (deps.directory.isAdministrator(name) || (await deps.directory.findUser(name))) return name
  throw new Refusal('not_found')
}

/** One page has all of them: the store keeps at most `MAX_SESSION_RECORDS` sessions of a name. */
export async function showSessions({ directory }: OperationDeps, call: ManagedCall, name: string) {
  const { sessions } = await directory.listSessions({ name, limit: MAX_SESSION_RECORDS })
  return { sessions: sessions.map((record) => showSession(record, call)) }
}

const showSession = (
  { name: _name, generation: _generation, ...record }: SessionRecord,
  { requester }: ManagedCall,
) => ({
  ...record,
  isCurrent: requester?.sessionId === record.id,
})

/** The other sessions of the caller. To end them, it must have proved the password; its own session it may end anyway. */
async function listOwn({ directory }: OperationDeps, { requester }: ManagedCall): Promise<readonly string[]> {
  if (!requester?.name) return []
  const { sessions } = await directory.listSessions({ name: requester.name, limit: MAX_SESSION_RECORDS })
  return sessions.map(({ id }) => id).filter((id) => id !== requester.sessionId)
}

async function endSession(
  { directory }: OperationDeps,
  call: ProvingCall,
  name: string,
  caller: Caller,
): Promise<UserSessionView> {
  const { id = '' } = call.params
  if (id !== call.requester?.sessionId) await requireOwnPassword(call, name, call.body.current_password)
  const ended = await directory.revokeSession(id, caller, name)
  if (!ended) throw new Refusal('not_found', { reason: 'No session of this account has this id.' })
  return showSession(ended, call)
}

type ProvingCall = ManagedCall<unknown, Static<typeof PROOF.body>>

/** The session of the request stays. */
async function endSessions({ directory }: OperationDeps, call: ProvingCall, name: string, caller: Caller) {
  await requireOwnPassword(call, name, call.body.current_password)
  return { endedSessions: await directory.revokeSessions(name, caller, call.requester?.sessionId) }
}

export async function countSessions({ directory }: OperationDeps, name: string): Promise<number> {
  const { sessions } = await directory.listSessions({ name, limit: MAX_SESSION_RECORDS })
  return sessions.length
}
