import { nowSeconds } from '../base/clock.ts'
import type { DirectoryDeps } from './deps.ts'
import type { Listeners } from './listeners.ts'
import type { Stored } from './store-port.ts'
import { endSessions, NO_SESSIONS_ENDED, nextRevision, type UserRecord } from './user.ts'
import type { UserWriter } from './user-writer.ts'

export interface EndAllParts extends Pick<DirectoryDeps, 'administration' | 'clock'> {
  readonly writer: UserWriter
  readonly listeners: Listeners
}

/** Raises the session epoch of a name, whoever has it: all its sessions and tokens end. */
export async function endAll({ administration, clock, writer, listeners }: EndAllParts, name: string): Promise<void> {
  if (administration.accounts().has(name)) await administration.endSessions(name)
  else await writer.write(name, (stored) => withSessionsEnded(name, stored, nowSeconds(clock)))
  listeners.tell({ kind: 'account', name })
}

function withSessionsEnded(name: string, stored: Stored | undefined, now: number): UserRecord {
  if (stored) return { ...stored.record, sessionEpoch: endSessions(stored.record.sessionEpoch, now) }
  // a name that only tokens of other issuers have: what is left of a deleted user carries the epoch for it
  const revision = nextRevision(undefined, ['deleted', name])
  return { kind: 'tombstone', name, revision, sessionEpoch: endSessions(NO_SESSIONS_ENDED, now) }
}
