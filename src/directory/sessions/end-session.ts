/** Ends sessions one by one. A user who ends very many has all of them revoked. */
import { nowSeconds } from '../../base/clock.ts'
import { toTokenMark, withoutToken } from '../access-token.ts'
import type { DirectoryParts } from '../parts.ts'
import { endSessions, startSessions } from '../session-epoch.ts'
import type { EndedSession } from '../store-port/sessions.ts'
import type { Stored } from '../store-port/users.ts'
import { applyUpdate, nextRevision } from '../users/revisions.ts'
import type { User, UserRecord } from '../users/user.ts'
import { recordUserChange } from '../users/user-events.ts'
import type { EndedReader } from '../writes.ts'
import { MAX_ENDED_OF_TOKEN, MAX_ENDED_SESSIONS, toReplacedCounter, toTokenCounter } from './ended-sessions.ts'
import type { EndingSession } from './session.ts'

/** The session that has taken the place of this one, at last; otherwise itself. */
export function findCurrent(ended: EndedReader, id: string): string {
  let current = id
  for (let next = ended.findSuccessor(id); next !== undefined; next = ended.findSuccessor(next)) current = next
  return current
}

const TOO_MANY = `more than ${MAX_ENDED_SESSIONS} sessions were ended one by one`
const TOO_MANY_OF_TOKEN = `more than ${MAX_ENDED_OF_TOKEN} sessions of one token were ended one by one`

/** Its record knows a token that was issued when options allowed a longer lifetime than now. */
async function findLastExpiry({ store, settings, clock }: DirectoryParts, id: string): Promise<number> {
  const record = await store.findSessionRecord(id)
  return Math.ceil(Math.max(record?.expiresAt ?? 0, nowSeconds(clock) + settings().maxSessionSeconds))
}

export async function endSession(parts: DirectoryParts, session: EndingSession): Promise<void> {
  const { name, accessToken, foreignToken } = session
  const expiresAt = session.expiresAt ?? (await findLastExpiry(parts, session.id))
  const { ended } = parts.beginUnasked('sign-out')
  // a sign-out whose cookie was replaced on the way
  const id = findCurrent(ended, session.id)
  const mark = accessToken ?? foreignToken
  const counter = mark === undefined ? name : toTokenCounter(name, mark)
  const { sequence, count } = await ended.end({ id, name: counter, expiresAt })
  parts.revocations.notify({ kind: 'session', id, name })
  // a client with a token must not be able to end the owner's other sessions
  if (count <= (mark === undefined ? MAX_ENDED_SESSIONS : MAX_ENDED_OF_TOKEN)) return
  if (accessToken !== undefined) return removeAccessToken(parts, name, accessToken)
  if (foreignToken === undefined) await raiseSessionEpoch(parts, name)
  else await endForeignToken(parts, { id, name, expiresAt }, foreignToken)
  // only now: until then, only the records keep the sessions ended
  await ended.forget(counter, sequence)
}

/**
 * Two sign-ins at the same time may carry the same cookie: the second one replaces nothing, because the client may keep
 * the cookie of either. A client that signs in very often leaves sessions that run out by themselves: to revoke all
 * sessions of its user instead, as for other ended ones, would end those of its other clients.
 */
export async function replaceSession(
  parts: DirectoryParts,
  session: EndingSession & EndedSession,
  successor: string,
): Promise<void> {
  const { id, name, expiresAt, accessToken, foreignToken } = session
  const mark = accessToken ?? foreignToken
  const { ended } = parts.beginUnasked('sign-out')
  if (ended.has(id) || ended.count(toReplacedCounter(name, mark)) >= MAX_ENDED_SESSIONS) return
  await ended.end({ id, name: toReplacedCounter(name, mark, successor), expiresAt })
  parts.revocations.notify({ kind: 'session', id, name, successor })
}

/** Ends all sessions that were opened with a token of another issuer, by one record with its mark. */
async function endForeignToken(parts: DirectoryParts, session: EndedSession, mark: string): Promise<void> {
  const { name, expiresAt } = session
  await parts.beginUnasked('sign-out').ended.end({ id: mark, name: toTokenCounter(name, mark), expiresAt })
  parts.revocations.notify({ kind: 'account', name })
  parts.events.record('session.revoked', { subject: name, reason: TOO_MANY_OF_TOKEN })
}

/** Revokes all sessions and tokens of a user, of an administrator or of a name in tokens of other issuers. */
async function raiseSessionEpoch(parts: DirectoryParts, name: string): Promise<void> {
  const { clock, revocations, events } = parts
  const { administration, writeRecord } = parts.beginUnasked('sign-out')
  if (administration.accounts().has(name)) await administration.endSessions(name)
  else await writeRecord(name, (stored) => withRaisedEpoch(name, stored, nowSeconds(clock)))
  revocations.notify({ kind: 'account', name })
  events.record('session.revoked', { subject: name, reason: TOO_MANY })
}

function withRaisedEpoch(name: string, stored: Stored | undefined, now: number): UserRecord {
  if (stored) return { ...stored.record, sessionEpoch: endSessions(stored.record.sessionEpoch, now) }
  // only tokens of other issuers have this name: a tombstone holds its session epoch
  const revision = nextRevision(undefined, ['deleted', name])
  return { kind: 'tombstone', name, revision, sessionEpoch: endSessions(startSessions(), now) }
}

/** Removes an access token. Only the sessions opened with it are revoked. */
async function removeAccessToken(parts: DirectoryParts, name: string, mark: string): Promise<void> {
  const { clock, revocations } = parts
  const { writeRecord } = parts.beginUnasked('sign-out')
  let before: User | undefined
  const after = await writeRecord(name, (stored) => {
    before = stored?.record.kind === 'user' ? stored.record : undefined
    const after = before && withoutToken(before, (token) => toTokenMark(token) === mark)
    return before && after && applyUpdate(before, after, { nowSeconds: nowSeconds(clock) })
  })
  if (!after) return
  revocations.notify({ kind: 'account', name })
  recordUserChange(parts, before, after)
}
