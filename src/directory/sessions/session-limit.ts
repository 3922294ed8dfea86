import { nowSeconds } from '../../base/clock.ts'
import type { Account } from '../account.ts'
import { SECONDS_BETWEEN_NOTES } from '../note-queue.ts'
import { isSameFactor } from '../second-factor/factor-proof.ts'
import type { SessionRecord } from '../store-port/sessions.ts'
import { endRecorded, isLive, type SessionRecordParts } from './recorded-session.ts'
import { compareOpening } from './session.ts'
import type { SessionList } from './session-directory.ts'

/** `max_sessions`: how many sessions a user can have at a time. The oldest ones end. */
export interface SessionLimit extends Pick<SessionList, 'makeRoom' | 'makeRoomForToken'> {
  /** Whether a session counts that was opened just now. */
  concerns(record: SessionRecord): boolean
  /**
   * Ends surplus sessions after these were stored. Sign-ins at the same time, here or on another node, do not see each
   * other's sessions when they make room; the one that is stored last sees them all.
   */
  endSurplus(stored: readonly SessionRecord[]): Promise<void>
}

/** Counted apart, so that sessions opened without the password end none that was opened with it. */
type Kind = 'password' | 'other' | 'token'

const KINDS: readonly Kind[] = ['password', 'other', 'token']

export function createSessionLimit(parts: SessionRecordParts): SessionLimit {
  const max = () => parts.settings().maxSessions
  const concerns = ({ createdAt }: SessionRecord) =>
    max() > 0 && createdAt >= nowSeconds(parts.clock) - SECONDS_BETWEEN_NOTES
  const makeRoom = async (name: string, kind: Kind): Promise<boolean> => {
    if (max() === 0) return false
    await parts.notes.flush()
    return endOldest(parts, { name, kind, kept: max() - 1 })
  }
  return {
    concerns,
    async makeRoom(account, { hasPassword }) {
      const hasEnded = await makeRoom(account.name, hasPassword ? 'password' : 'other')
      if (!hasEnded) return account
      // ending many sessions may have raised the session epoch
      const now = await parts.findAccount(account.name)
      // with another second factor, which was not checked, the caller must not get its session epoch
      return now && isSameFactor(now, account) ? now : account
    },
    makeRoomForToken: async (name) => void (await makeRoom(name, 'token')),
    async endSurplus(stored) {
      for (const name of new Set(stored.filter(concerns).map((record) => record.name)))
        for (const kind of KINDS) await endOldest(parts, { name, kind, kept: max() })
    },
  }
}

interface Excess {
  readonly name: string
  readonly kind: Kind
  /** How many may stay. */
  readonly kept: number
}

const PAGE_SIZE = 1000

/** Returns whether it ended any. */
async function endOldest(parts: SessionRecordParts, { name, kind, kept }: Excess): Promise<boolean> {
  const account = await parts.findAccount(name)
  const page = await parts.store.listSessionRecords({ name, limit: PAGE_SIZE })
  const live: SessionRecord[] = []
  for (const record of page)
    if (kindOf(parts, record, account) === kind && (await isLive(parts, record))) live.push(record)
  const surplus = live.sort(compareRecords).slice(kept)
  for (const record of surplus) await endRecorded(parts, record)
  return surplus.length > 0
}

function kindOf(
  { sessions }: SessionRecordParts,
  { id, generation }: SessionRecord,
  account: Account | undefined,
): Kind {
  if (generation === undefined) return 'token'
  return account && sessions.findPasswordTime(id, account) !== undefined ? 'password' : 'other'
}

/** The newest first. Records have the second, ids also the millisecond. */
const compareRecords = (a: SessionRecord, b: SessionRecord): number =>
  b.createdAt - a.createdAt || compareOpening(a.id, b.id)
