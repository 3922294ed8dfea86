// The sessions that are live, for lists, and the number of sessions that a user can have at a time (`max_sessions`).
import { nowSeconds } from '../../base/clock.ts'
import type { Account } from '../account.ts'
import type { Caller } from '../caller.ts'
import { createNoteQueue, type NoteQueue, SECONDS_BETWEEN_NOTES } from '../note-queue.ts'
import type { DirectoryParts } from '../parts.ts'
import { isSameFactor } from '../password-proof.ts'
import { generationOf } from '../session-epoch.ts'
import {
  MAX_SESSION_RECORDS,
  SESSION_KEYS,
  type SessionRecord,
  type SessionRecordRange,
} from '../store-port/sessions.ts'
import { compareOpening, type SessionOpening, type SessionUse } from './session.ts'
import type { SessionDirectory } from './sessions.ts'

interface RecordParts extends DirectoryParts {
  readonly sessions: SessionDirectory
  /** Uses of sessions on their way to the store. */
  readonly notes: NoteQueue<SessionRecord>
}

export interface SessionRecordPage {
  readonly sessions: readonly SessionRecord[]
  /** To be sent as `after` for the next page; `undefined`: this was the last one. */
  readonly next: SessionRecordRange['after']
}

export function createSessionRecords(directory: DirectoryParts, sessions: SessionDirectory) {
  const { store } = directory.beginUnasked('note')
  const write = async (records: readonly SessionRecord[]): Promise<void> => {
    await store.putSessionRecords(records)
    await endSurplus(parts, records)
  }
  const notes = createNoteQueue(write, (seconds) => store.purgeSessionRecords(seconds), {
    ...directory,
    topic: { name: 'sessions.flush' },
  })
  const parts: RecordParts = { ...directory, sessions, notes }
  return {
    /**
     * Never waits: uses are written in batches, those of one session once a minute. `describe` is called only for a use
     * that is written.
     */
    noteSession: (id: string, describe: () => SessionUse) =>
      notes.note(id, (minute, earlier) => {
        const record = toRecord(describe(), minute, earlier)
        // soon, so that the limit also counts sessions that are opened at the same time
        if (isLimited(parts, record)) setImmediate(() => void notes.flush().catch(() => {}))
        return record
      }),
    /** The newest first. A page may be shorter than its limit and still not be the last one. */
    async listSessions(range: SessionRecordRange): Promise<SessionRecordPage> {
      await notes.flushSoon()
      const page = await store.listSessionRecords(range)
      const live: SessionRecord[] = []
      for (const record of page) if (await isLive(parts, record)) live.push(record)
      // the store sorts those of one second by their ids as texts
      if (!range.search) live.sort(compareRecords)
      const last = page.length < range.limit ? undefined : page.at(-1)
      const key = last && range.search && { key: SESSION_KEYS[range.search.by](last) }
      return { sessions: live, next: last && { createdAt: last.createdAt, id: last.id, ...key } }
    },
    /** Ends a session on every node. `undefined`: no live session, or none of this name, has this id. */
    async revokeSession(id: string, caller: Caller, name?: string): Promise<SessionRecord | undefined> {
      await notes.flushAll()
      return revokeSession(parts, id, caller, name)
    },
    /** Ends all sessions of a name but the one with the id `kept`. Returns how many. */
    revokeSessions: (name: string, caller: Caller, kept?: string) => revokeSessions(parts, name, caller, kept),
    /**
     * Ends the oldest sessions of an account beyond the number it may have, so that another one can be opened. Sessions
     * opened with the password are counted apart from the others. Returns the account to open it for. The session with
     * the id `replaced` is not counted: the new one takes its place.
     */
    makeRoom: (account: Account, { hasPassword }: Pick<SessionOpening, 'hasPassword'>, replaced?: string) =>
      makeRoom(parts, account, hasPassword ? 'password' : 'other', replaced),
    /** Makes room for a name in a token of another issuer. */
    makeRoomForToken: async (name: string, replaced?: string) =>
      void (await endForAnother(parts, name, 'token', replaced)),
    /** Writes the sessions that this process has noted so far. */
    flushSessions: notes.flush,
    close: notes.close,
  }
}

const MAX_USER_AGENT_LENGTH = 256

function toRecord(use: SessionUse, minute: number, earlier: SessionRecord | undefined): SessionRecord {
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

/** A session is not in the record of its user, so the user is read again directly before the session ends. */
async function revokeSession(
  parts: RecordParts,
  id: string,
  caller: Caller,
  name?: string,
): Promise<SessionRecord | undefined> {
  const record = await parts.store.findSessionRecord(id)
  if (!record || record.name !== (name ?? record.name) || !(await isLive(parts, record))) return undefined
  await parts.begin(caller, 'end of sessions')
  const user = caller.mayWrite && (await parts.store.findUser(record.name))?.record
  if (user?.kind === 'user') caller.mayWrite?.(user, user)
  await endRecorded(parts, record)
  return record
}

async function revokeSessions(parts: RecordParts, name: string, caller: Caller, kept?: string): Promise<number> {
  await parts.notes.flushAll()
  // one page has all of them
  const records = await parts.store.listSessionRecords({ name, limit: MAX_SESSION_RECORDS })
  let ended = 0
  for (const { id } of records) if (id !== kept && (await revokeSession(parts, id, caller, name))) ended += 1
  return ended
}

async function isLive({ sessions, findAccount, clock }: RecordParts, record: SessionRecord): Promise<boolean> {
  const { id, name, generation, createdAt, expiresAt } = record
  if (expiresAt <= nowSeconds(clock) || sessions.isSessionEnded(id)) return false
  // the token that opened it was issued before the session began
  if (generation === undefined) return sessions.isForeignTokenLive({ id, name, issuedAt: createdAt, leewaySeconds: 0 })
  const account = await findAccount(name)
  return account !== undefined && generationOf(account.sessionEpoch, id) === generation
}

async function endRecorded(parts: RecordParts, { id, name, door, expiresAt }: SessionRecord): Promise<void> {
  const { notes, sessions, settings, clock, events } = parts
  notes.forget(id)
  // a request that is running now may still renew the session
  const lastExpiry = Math.max(expiresAt, nowSeconds(clock) + settings().maxSessionSeconds)
  await sessions.endSession({ id, name, expiresAt: lastExpiry })
  events.record('session.ended', { subject: name, openedBy: door })
}

/** Counted apart, so that sessions opened without the password end none that was opened with it. */
const KINDS = ['password', 'other', 'token'] as const
type Kind = (typeof KINDS)[number]

async function makeRoom(parts: RecordParts, account: Account, kind: Kind, replaced?: string): Promise<Account> {
  if (!(await endForAnother(parts, account.name, kind, replaced))) return account
  // ending many sessions may have raised the session epoch
  const now = await parts.findAccount(account.name)
  // with another second factor, which was not checked, the caller must not get its session epoch
  return now && isSameFactor(now, account) ? now : account
}

/** Ends the oldest sessions, so that another one can be opened. Returns whether it ended any. */
async function endForAnother(parts: RecordParts, name: string, kind: Kind, replaced?: string): Promise<boolean> {
  const { max_sessions: max } = parts.settings().chttpd_auth
  if (max === 0) return false
  await parts.notes.flush()
  return endOldest(parts, name, kind, { kept: max - 1, replaced })
}

/** Whether the limit applies to a session that was opened just now. */
const isLimited = ({ settings, clock }: RecordParts, { createdAt }: SessionRecord): boolean =>
  settings().chttpd_auth.max_sessions > 0 && createdAt >= nowSeconds(clock) - SECONDS_BETWEEN_NOTES

/**
 * Ends surplus sessions after these were stored. Sign-ins at the same time, here or on another node, do not see each
 * other's sessions when they make room; the one that is stored last sees them all.
 */
async function endSurplus(parts: RecordParts, stored: readonly SessionRecord[]): Promise<void> {
  const limited = stored.filter((record) => isLimited(parts, record))
  for (const name of new Set(limited.map((record) => record.name)))
    for (const kind of KINDS) await endOldest(parts, name, kind, { kept: parts.settings().chttpd_auth.max_sessions })
}

const PAGE_SIZE = 1000

/** Ends all sessions of a kind but the `kept` newest. Returns whether it ended any. */
async function endOldest(
  parts: RecordParts,
  name: string,
  kind: Kind,
  { kept, replaced }: { readonly kept: number; readonly replaced?: string | undefined },
): Promise<boolean> {
  const account = await parts.findAccount(name)
  const page = await parts.store.listSessionRecords({ name, limit: PAGE_SIZE })
  const live: SessionRecord[] = []
  for (const record of page.filter(({ id }) => id !== replaced))
    if (kindOf(parts, record, account) === kind && (await isLive(parts, record))) live.push(record)
  const surplus = live.sort(compareRecords).slice(kept)
  for (const record of surplus) await endRecorded(parts, record)
  return surplus.length > 0
}

function kindOf({ sessions }: RecordParts, { id, generation }: SessionRecord, account: Account | undefined): Kind {
  if (generation === undefined) return 'token'
  return account && sessions.findPasswordTime(id, account) !== undefined ? 'password' : 'other'
}

/** The newest first. Records have the second, ids also the millisecond. */
const compareRecords = (a: SessionRecord, b: SessionRecord): number =>
  b.createdAt - a.createdAt || compareOpening(a.id, b.id)
