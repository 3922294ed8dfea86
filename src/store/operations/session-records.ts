import {
  type Renewal,
  SESSION_KEYS,
  type SessionKey,
  type SessionRecord,
  type SessionRecordRange,
  type SessionRecordStore,
} from '../../directory/store-port/sessions.ts'
import {
  type Engine,
  manyKeys,
  numberOf,
  type OneStep,
  one,
  purgeExpired,
  putSorted,
  type Row,
  type Statement,
  type StoreSteps,
  textOf,
  type Value,
} from '../engine.ts'
import { isKey, requireKey, requirePageSize, requireStorableText } from '../limits.ts'
import { STATEMENTS } from '../statements.ts'

export const createSessionRecordStore = (engine: Engine): SessionRecordStore => ({
  async putSessionRecords(records) {
    for (const record of records) requireStorable(record)
    if (records.length === 0) return
    await engine.transact(() => putSorted(STATEMENTS.putSession, records.map(toRow)))
    await engine.transact(() => trimSessions(new Set(records.map(({ name }) => name))))
  },
  async findSessionRecord(id) {
    if (!isKey(id)) return undefined
    const [row] = await engine.ask(one(STATEMENTS.findSession, id))
    return row && readSession(row)
  },
  async listSessionRecords(range) {
    requirePageSize(range.limit)
    const { name, search, after } = range
    if (![name, search?.text, after?.id, after?.key].every((text) => text === undefined || isKey(text))) return []
    return (await engine.ask(listSessions(range))).map(readSession)
  },
  async findRenewal(id) {
    if (!isKey(id)) return undefined
    const [row] = await engine.ask(one(STATEMENTS.findRenewal, id))
    return row && readRenewal(row)
  },
  renewSession: ({ id, digest, previous, renewedAt }, expiresAt) =>
    engine.transact(function* () {
      return (yield one(STATEMENTS.renewSession, id, previous, digest, renewedAt, expiresAt)).length > 0
    }),
  purgeSessionRecords: (nowSeconds) => purgeExpired(engine, STATEMENTS.purgeSessions, nowSeconds),
})

function requireStorable({ id, name, peer, userAgent }: SessionRecord): void {
  requireKey(id, 'the id of a session')
  requireKey(name, 'a name')
  requireStorableText(peer, 'an address')
  requireStorableText(userAgent, 'a user agent')
}

/** A transaction of its own: one that holds rows it wrote could deadlock with another node's. */
function* trimSessions(names: ReadonlySet<string>): StoreSteps<void> {
  yield manyKeys(STATEMENTS.trimSessions, names)
}

const toRow = (record: SessionRecord): readonly [string, ...Value[]] => [
  record.id,
  record.name,
  record.generation ?? null,
  record.door,
  record.createdAt,
  record.seenAt,
  record.expiresAt,
  record.peer,
  record.userAgent,
  SESSION_KEYS.client(record),
]

const SEARCHES: Readonly<Record<SessionKey, Statement>> = {
  user: STATEMENTS.searchSessionsByName,
  address: STATEMENTS.searchSessionsByPeer,
  client: STATEMENTS.searchSessionsByClient,
}

/** Sorted after every other text that begins alike. */
const LAST = '\u{10ffff}'

function listSessions({ name, search, after, limit, ...range }: SessionRecordRange): OneStep {
  const { openedFrom = 0, openedBefore = Number.MAX_SAFE_INTEGER } = range
  const { createdAt, id } = after ?? { createdAt: openedBefore, id: '' }
  if (name !== undefined) return one(STATEMENTS.listSessionsOf, name, createdAt, id, limit)
  if (!search) return one(STATEMENTS.listSessions, createdAt, id, openedFrom, limit)
  const text = search.by === 'client' ? search.text.toLowerCase() : search.text
  const key = after?.key ?? `${text}${LAST}`
  return one(SEARCHES[search.by], key, createdAt, id, text, openedFrom, openedBefore, limit)
}

const readSession = (row: Row): SessionRecord => ({
  id: textOf(row, 'id'),
  name: textOf(row, 'name'),
  generation: row['generation'] === null ? undefined : numberOf(row, 'generation'),
  door: textOf(row, 'door'),
  createdAt: numberOf(row, 'created_at'),
  seenAt: numberOf(row, 'seen_at'),
  expiresAt: numberOf(row, 'expires_at'),
  peer: textOf(row, 'peer'),
  userAgent: textOf(row, 'user_agent'),
})

const readRenewal = (row: Row): Renewal => ({
  id: textOf(row, 'id'),
  name: textOf(row, 'name'),
  generation: numberOf(row, 'generation'),
  createdAt: numberOf(row, 'created_at'),
  digest: textOf(row, 'renewal'),
  previous: textOf(row, 'renewed_from'),
  renewedAt: numberOf(row, 'renewed_at'),
})
