import { confirmChange } from '../confirm-change.ts'
import type { SessionRecord } from '../store-port/sessions.ts'
import { endRecorded, isLive, type SessionRecordParts } from './recorded-session.ts'
import type { SessionList } from './session-directory.ts'
import { createSessionLimit, type SessionLimit } from './session-limit.ts'
import { toRecord } from './session-notes.ts'

export interface SessionRecords {
  readonly list: SessionList
  readonly endSurplus: SessionLimit['endSurplus']
}

export function createSessionRecords(parts: SessionRecordParts): SessionRecords {
  const limit = createSessionLimit(parts)
  return { list: createSessionList(parts, limit), endSurplus: limit.endSurplus }
}

function createSessionList(parts: SessionRecordParts, limit: SessionLimit): SessionList {
  const { store, notes } = parts
  return {
    noteSession: (id, describe) =>
      notes.note(id, (minute, earlier) => {
        const record = toRecord(describe(), minute, earlier)
        // soon, so that the limit also counts sessions that are opened at the same time
        if (limit.concerns(record)) setImmediate(() => void notes.flush().catch(() => {}))
        return record
      }),
    async listSessions(range) {
      await notes.flush()
      const page = await store.listSessionRecords(range)
      const sessions: SessionRecord[] = []
      for (const record of page) if (await isLive(parts, record)) sessions.push(record)
      return { sessions, next: page.length < range.limit ? undefined : page.at(-1) }
    },
    async revokeSession(id, name) {
      await notes.flush()
      const record = await store.findSessionRecord(id)
      if (!record || record.name !== (name ?? record.name) || !(await isLive(parts, record))) return undefined
      await confirmChange()
      await endRecorded(parts, record)
      return record
    },
    makeRoom: limit.makeRoom,
    makeRoomForToken: limit.makeRoomForToken,
  }
}
