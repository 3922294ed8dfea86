import { nowSeconds } from '../../base/clock.ts'
import { toTokenMark, withoutToken } from '../access-token.ts'
import type { DirectoryParts } from '../parts.ts'
import { endSessions, NO_SESSIONS_ENDED } from '../session-epoch.ts'
import type { Stored } from '../store-port/users.ts'
import { applyUpdate } from '../users/apply-update.ts'
import { nextRevision } from '../users/revisions.ts'
import type { User, UserRecord } from '../users/user.ts'
import { recordUserChange } from '../users/user-events.ts'
import { MAX_ENDED_OF_TOKEN, MAX_ENDED_SESSIONS, toTokenCounter } from './ended-sessions.ts'
import type { EndingSession } from './session-directory.ts'

const TOO_MANY = `more than ${MAX_ENDED_SESSIONS} sessions were ended one by one`
const TOO_MANY_OF_TOKEN = `more than ${MAX_ENDED_OF_TOKEN} sessions of one token were ended one by one`

export async function endSession(parts: DirectoryParts, session: EndingSession): Promise<void> {
  const { id, name, expiresAt, accessToken, foreignToken } = session
  const mark = accessToken ?? foreignToken
  const counter = mark === undefined ? name : toTokenCounter(name, mark)
  const { sequence, count } = await parts.ended.end({ id, name: counter, expiresAt })
  parts.revocations.notify({ kind: 'session', id, name })
  // a client with a token must not be able to end the owner's other sessions
  if (count <= (mark === undefined ? MAX_ENDED_SESSIONS : MAX_ENDED_OF_TOKEN)) return
  if (accessToken !== undefined) return removeAccessToken(parts, name, accessToken)
  if (foreignToken === undefined) await raiseSessionEpoch(parts, name)
  else await endForeignToken(parts, session, foreignToken)
  // only now: until then, only the records keep the sessions ended
  await parts.ended.forget(counter, sequence)
}

/** Ends all sessions that were opened with a token of another issuer, by one record with its mark. */
async function endForeignToken(parts: DirectoryParts, session: EndingSession, mark: string): Promise<void> {
  const { name, expiresAt } = session
  await parts.ended.end({ id: mark, name: toTokenCounter(name, mark), expiresAt })
  parts.revocations.notify({ kind: 'account', name })
  parts.events.record('session.revoked', { subject: name, reason: TOO_MANY_OF_TOKEN })
}

/** Revokes all sessions and tokens of a user, of an administrator or of a name in tokens of other issuers. */
async function raiseSessionEpoch(parts: DirectoryParts, name: string): Promise<void> {
  const { administration, clock, writer, revocations, events } = parts
  if (administration.accounts().has(name)) await administration.endSessions(name)
  else await writer.write(name, (stored) => withRaisedEpoch(name, stored, nowSeconds(clock)))
  revocations.notify({ kind: 'account', name })
  events.record('session.revoked', { subject: name, reason: TOO_MANY })
}

function withRaisedEpoch(name: string, stored: Stored | undefined, now: number): UserRecord {
  if (stored) return { ...stored.record, sessionEpoch: endSessions(stored.record.sessionEpoch, now) }
  // only tokens of other issuers have this name: a tombstone holds its session epoch
  const revision = nextRevision(undefined, ['deleted', name])
  return { kind: 'tombstone', name, revision, sessionEpoch: endSessions(NO_SESSIONS_ENDED, now) }
}

/** Removes an access token. Only the sessions opened with it are revoked. */
async function removeAccessToken(parts: DirectoryParts, name: string, mark: string): Promise<void> {
  const { clock, writer, revocations, events } = parts
  let before: User | undefined
  const after = await writer.write(name, (stored) => {
    before = stored?.record.kind === 'user' ? stored.record : undefined
    const after = before && withoutToken(before, (token) => toTokenMark(token) === mark)
    return before && after && applyUpdate(before, after, { nowSeconds: nowSeconds(clock) })
  })
  if (!after) return
  revocations.notify({ kind: 'account', name })
  recordUserChange(events, before, after)
}
