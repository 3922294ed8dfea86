import { nowSeconds } from '../base/clock.ts'
import type { Notifier } from '../base/notifier.ts'
import { toTokenMark } from './access-token.ts'
import { applyUpdate } from './apply-update.ts'
import type { DirectoryDeps } from './deps.ts'
import type { EndingSession, Revocation } from './directory.ts'
import { type EndedSessions, MAX_ENDED_OF_ACCESS_TOKEN, MAX_ENDED_SESSIONS, toTokenCounter } from './ended-sessions.ts'
import type { Stored } from './store-port.ts'
import { endSessions, NO_SESSIONS_ENDED, nextRevision, type User, type UserRecord } from './user.ts'
import { recordUserChange } from './user-events.ts'
import type { UserWriter } from './user-writer.ts'

export interface EndSessionParts extends Pick<DirectoryDeps, 'administration' | 'clock' | 'events'> {
  readonly ended: EndedSessions
  readonly writer: UserWriter
  readonly revocations: Notifier<Revocation>
}

const TOO_MANY = `more than ${MAX_ENDED_SESSIONS} sessions were ended one by one`

export async function endSession(parts: EndSessionParts, { accessToken, ...session }: EndingSession): Promise<void> {
  const { ended, revocations } = parts
  const { id, name } = session
  const counter = accessToken === undefined ? name : toTokenCounter(name, accessToken)
  const { sequence, count } = await ended.end({ ...session, name: counter })
  revocations.notify({ kind: 'session', id, name })
  if (accessToken !== undefined) {
    // a client with the access token must not be able to end the owner's other sessions
    if (count > MAX_ENDED_OF_ACCESS_TOKEN) await removeAccessToken(parts, name, accessToken)
    return
  }
  if (count <= MAX_ENDED_SESSIONS) return
  await raiseSessionEpoch(parts, name, TOO_MANY)
  // only now: until the new epoch is stored, the records are what keeps the sessions ended
  await ended.forget(name, sequence)
}

/** Revokes all sessions and tokens of a user, of an administrator or of a name in tokens of other issuers. */
async function raiseSessionEpoch(parts: EndSessionParts, name: string, reason: string): Promise<void> {
  const { administration, clock, writer, revocations, events } = parts
  if (administration.accounts().has(name)) await administration.endSessions(name)
  else await writer.write(name, (stored) => withRaisedEpoch(name, stored, nowSeconds(clock)))
  revocations.notify({ kind: 'account', name })
  events.record('session.revoked', { subject: name, reason })
}

function withRaisedEpoch(name: string, stored: Stored | undefined, now: number): UserRecord {
  if (stored) return { ...stored.record, sessionEpoch: endSessions(stored.record.sessionEpoch, now) }
  // only tokens of other issuers have this name: a tombstone holds its session epoch
  const revision = nextRevision(undefined, ['deleted', name])
  return { kind: 'tombstone', name, revision, sessionEpoch: endSessions(NO_SESSIONS_ENDED, now) }
}

/** Removes an access token. Only the sessions opened with it are revoked. */
async function removeAccessToken(parts: EndSessionParts, name: string, mark: string): Promise<void> {
  const { clock, writer, revocations, events } = parts
  let before: User | undefined
  const after = await writer.write(name, (stored) => {
    before = stored?.record.kind === 'user' ? stored.record : undefined
    return before && applyUpdate(before, withoutToken(before, mark), { nowSeconds: nowSeconds(clock) })
  })
  if (!after) return
  revocations.notify({ kind: 'account', name })
  recordUserChange(events, before, after)
}

const withoutToken = (user: User, mark: string): User => ({
  ...user,
  multiModel: { ...user.multiModel, tokens: user.multiModel.tokens.filter((token) => toTokenMark(token) !== mark) },
})
