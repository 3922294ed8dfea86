import type { Clock } from '../../base/clock.ts'
import { createNoteQueue, type NoteQueue, SECONDS_BETWEEN_NOTES } from '../note-queue.ts'
import type { SessionRecord, SessionRecordStore } from '../store-port/sessions.ts'
import type { SessionUse } from './session-directory.ts'

export type SessionNotes = NoteQueue<SessionRecord>

type NotesStore = Pick<SessionRecordStore, 'putSessionRecords' | 'purgeSessionRecords'>

export interface SessionNotesDeps {
  readonly store: NotesStore
  readonly clock: Clock
  /** Called when they are stored. If it fails, they are written again later. */
  onWritten(records: readonly SessionRecord[]): Promise<void>
}

/** Uses of sessions on their way to the store. */
export const createSessionNotes = ({ store, clock, onWritten }: SessionNotesDeps): SessionNotes =>
  createNoteQueue({
    async write(records) {
      await store.putSessionRecords(records)
      await onWritten(records)
    },
    purge: (nowSeconds) => store.purgeSessionRecords(nowSeconds),
    clock,
  })

const MAX_USER_AGENT_LENGTH = 256

export function toRecord(use: SessionUse, minute: number, earlier: SessionRecord | undefined): SessionRecord {
  const createdAt = Math.min(use.createdAt, earlier?.createdAt ?? use.createdAt)
  return {
    ...use,
    // a token may be used at the other door before the record of its session is written
    door: earlier?.door ?? use.door,
    createdAt,
    seenAt: Math.max(minute, createdAt),
    // a use later in the same minute is not noted
    expiresAt: use.expiresAt + SECONDS_BETWEEN_NOTES,
    userAgent: use.userAgent.slice(0, MAX_USER_AGENT_LENGTH),
  }
}
