import { nowSeconds } from '../../base/clock.ts'
import type { AccountDirectory } from '../account-directory.ts'
import type { DirectoryDeps } from '../deps.ts'
import type { SessionRecord } from '../store-port/sessions.ts'
import { generationOf } from '../users/user.ts'
import type { SessionDirectory } from './session-directory.ts'
import type { SessionNotes } from './session-notes.ts'

export interface SessionRecordParts extends Pick<DirectoryDeps, 'store' | 'settings' | 'clock' | 'events'> {
  readonly notes: SessionNotes
  readonly sessions: Pick<SessionDirectory, 'isSessionEnded' | 'isForeignTokenLive' | 'endSession' | 'findPasswordTime'>
  readonly findAccount: AccountDirectory['findAccount']
}

export async function endRecorded(parts: SessionRecordParts, record: SessionRecord): Promise<void> {
  const { id, name, door } = record
  parts.notes.forget(id)
  await parts.sessions.endSession({ id, name, expiresAt: toLastExpiry(parts, record) })
  parts.events.record('session.ended', { subject: name, openedBy: door })
}

export async function isLive(
  { sessions, findAccount, clock }: SessionRecordParts,
  record: SessionRecord,
): Promise<boolean> {
  const { id, name, generation, createdAt, expiresAt } = record
  if (expiresAt <= nowSeconds(clock) || sessions.isSessionEnded(id)) return false
  // the token that opened it was issued before the session began
  if (generation === undefined) return sessions.isForeignTokenLive({ id, name, issuedAt: createdAt })
  const account = await findAccount(name)
  return account !== undefined && generationOf(account.sessionEpoch, id) === generation
}

/** A request that is running now may still renew the session. */
const toLastExpiry = ({ settings, clock }: SessionRecordParts, { expiresAt }: SessionRecord): number =>
  Math.max(expiresAt, nowSeconds(clock) + settings().maxSessionSeconds)
