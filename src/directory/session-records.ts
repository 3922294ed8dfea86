import { nowSeconds } from '../base/clock.ts'
import type { DirectoryDeps } from './deps.ts'
import type { AccountDirectory, SessionDirectory, SessionList } from './directory.ts'
import type { SessionNotes } from './session-notes.ts'
import type { SessionRecord } from './store-port.ts'

interface SessionRecordParts extends Pick<DirectoryDeps, 'store' | 'settings' | 'clock' | 'events'> {
  readonly notes: SessionNotes
  readonly sessions: Pick<SessionDirectory, 'isSessionEnded' | 'isForeignTokenLive' | 'endSession'>
  readonly findAccount: AccountDirectory['findAccount']
}

export function createSessionList(parts: SessionRecordParts): SessionList {
  const { store, notes } = parts
  return {
    noteSession: (id, describe) => notes.note(id, describe),
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
      notes.forget(id)
      await parts.sessions.endSession({ id, name: record.name, expiresAt: toLastExpiry(parts, record) })
      parts.events.record('session.ended', { subject: record.name, openedBy: record.door })
      return record
    },
  }
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
