import { nowSeconds } from '../base/clock.ts'
import { confirmChange } from './confirm-change.ts'
import type { DirectoryDeps } from './deps.ts'
import type { AccountDirectory, SessionDirectory, SessionList } from './directory.ts'
import { type SessionNotes, toRecord } from './session-notes.ts'
import type { SessionRecord } from './store-port.ts'

interface SessionRecordParts extends Pick<DirectoryDeps, 'store' | 'settings' | 'clock' | 'events'> {
  readonly notes: SessionNotes
  readonly sessions: Pick<SessionDirectory, 'isSessionEnded' | 'isForeignTokenLive' | 'endSession' | 'findPasswordTime'>
  readonly findAccount: AccountDirectory['findAccount']
}

export function createSessionList(parts: SessionRecordParts): SessionList {
  const { store, notes } = parts
  return {
    noteSession: (id, describe) => notes.note(id, (minute, earlier) => toRecord(describe(), minute, earlier)),
    async listSessions(range) {
      await notes.flush()
      const page = await store.listSessionRecords(range)
      const sessions: SessionRecord[] = []
      for (const record of page) if (await isLive(parts, record)) sessions.push(record)
      return { sessions, next: page.length < range.limit ? undefined : page.at(-1) }
    },
    async revokeSession(id) {
      await notes.flush()
      const record = await store.findSessionRecord(id)
      if (!record || !(await isLive(parts, record))) return undefined
      await confirmChange()
      await end(parts, record)
      return record
    },
    async makeRoom(account, { hasPassword }) {
      const isProved = ({ id }: SessionRecord) => parts.sessions.findPasswordTime(id, account) !== undefined
      const isCounted = (record: SessionRecord) => record.generation !== undefined && isProved(record) === hasPassword
      const hasEnded = await endOldest(parts, account.name, isCounted)
      // ending many sessions may have raised the session epoch
      return hasEnded ? ((await parts.findAccount(account.name)) ?? account) : account
    },
    makeRoomForToken: async (name) => void (await endOldest(parts, name, ({ generation }) => generation === undefined)),
  }
}

async function end(parts: SessionRecordParts, record: SessionRecord): Promise<void> {
  const { id, name, door } = record
  parts.notes.forget(id)
  await parts.sessions.endSession({ id, name, expiresAt: toLastExpiry(parts, record) })
  parts.events.record('session.ended', { subject: name, openedBy: door })
}

const PAGE_SIZE = 1000

/** Ends the oldest of the counted sessions, so that one more is within the limit. Returns whether it ended any. */
async function endOldest(
  parts: SessionRecordParts,
  name: string,
  isCounted: (record: SessionRecord) => boolean,
): Promise<boolean> {
  const { maxSessions } = parts.settings()
  if (maxSessions === 0) return false
  await parts.notes.flush()
  const page = await parts.store.listSessionRecords({ name, limit: PAGE_SIZE })
  const live: SessionRecord[] = []
  for (const record of page) if (isCounted(record) && (await isLive(parts, record))) live.push(record)
  const surplus = live.slice(maxSessions - 1)
  for (const record of surplus) await end(parts, record)
  return surplus.length > 0
}

async function isLive({ sessions, findAccount, clock }: SessionRecordParts, record: SessionRecord): Promise<boolean> {
  const { id, name, generation, createdAt, expiresAt } = record
  if (expiresAt <= nowSeconds(clock) || sessions.isSessionEnded(id)) return false
  // the token that opened it was issued before the session began
  if (generation === undefined) return sessions.isForeignTokenLive({ id, name, issuedAt: createdAt })
  return (await findAccount(name))?.sessionEpoch.generation === generation
}

/** A request that is running now may still renew the session. */
const toLastExpiry = ({ settings, clock }: SessionRecordParts, { expiresAt }: SessionRecord): number =>
  Math.max(expiresAt, nowSeconds(clock) + settings().maxSessionSeconds)
