import { nowSeconds } from '../base/clock.ts'
import { toTokenMark } from './access-token.ts'
import { settle } from './apply-update.ts'
import type { DirectoryDeps } from './deps.ts'
import type { Listeners } from './listeners.ts'
import type { Stored } from './store-port.ts'
import { endSessions, NO_SESSIONS_ENDED, nextRevision, type User, type UserRecord } from './user.ts'
import { recordUserChange } from './user-events.ts'
import type { UserWriter } from './user-writer.ts'

export interface EndAllParts extends Pick<DirectoryDeps, 'administration' | 'clock' | 'events'> {
  readonly writer: UserWriter
  readonly listeners: Listeners
}

/** Raises the session epoch of a user, an administrator or a name in tokens of other issuers. All its sessions and tokens end. */
export async function endAll(parts: EndAllParts, name: string, reason: string): Promise<void> {
  const { administration, clock, writer, listeners, events } = parts
  if (administration.accounts().has(name)) await administration.endSessions(name)
  else await writer.write(name, (stored) => withSessionsEnded(name, stored, nowSeconds(clock)))
  listeners.tell({ kind: 'account', name })
  events.record('session.revoked', { subject: name, reason })
}

function withSessionsEnded(name: string, stored: Stored | undefined, now: number): UserRecord {
  if (stored) return { ...stored.record, sessionEpoch: endSessions(stored.record.sessionEpoch, now) }
  // a name that only tokens of other issuers have: what is left of a deleted user carries the epoch for it
  const revision = nextRevision(undefined, ['deleted', name])
  return { kind: 'tombstone', name, revision, sessionEpoch: endSessions(NO_SESSIONS_ENDED, now) }
}

/** Removes an access token, which ends all sessions that rest on it and nothing else of its owner. */
export async function removeAccessToken(parts: EndAllParts, name: string, mark: string): Promise<void> {
  const { clock, writer, listeners, events } = parts
  let before: User | undefined
  const after = await writer.write(name, (stored) => {
    before = stored?.record.kind === 'user' ? stored.record : undefined
    return before && settle(before, withoutToken(before, mark), nowSeconds(clock))
  })
  if (!after) return
  listeners.tell({ kind: 'account', name })
  recordUserChange(events, before, after)
}

const withoutToken = (user: User, mark: string): User => ({
  ...user,
  multiModel: { ...user.multiModel, tokens: user.multiModel.tokens.filter((token) => toTokenMark(token) !== mark) },
})
