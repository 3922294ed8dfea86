/**
 * Entries by which users are searched. They are written with the user. An older version does not write them: then the
 * sequence `searched` stays behind, and the next search adds what is missing.
 */
import { yieldToOthers } from '../../base/pace.ts'
import { shareRun } from '../../base/turns.ts'
import {
  type FoundUser,
  SEARCH_ROWS,
  type SearchPosition,
  type UserSearchStore,
} from '../../directory/store-port/users.ts'
import { listEntries } from '../../directory/users/search-entries.ts'
import type { UserRecord } from '../../directory/users/user.ts'
import type { DamagedRecords } from '../damaged-records.ts'
import { type Engine, many, manyKeys, numberOf, one, putSorted, type Row, type StoreSteps, textOf } from '../engine.ts'
import { requirePageSize } from '../limits.ts'
import { readRecordRow } from '../record.ts'
import { INDEXED_ROWS, STATEMENTS } from '../statements.ts'
import { lockCounters } from './changes.ts'

/** Returns a function that adds the entries of users that have none yet. */
export function createEntryIndex(engine: Engine, damaged: DamagedRecords): () => Promise<void> {
  const index = shareRun(() => indexAll(engine, damaged))
  return async () => {
    const [state] = await engine.ask(one(STATEMENTS.readSearched))
    if (numberOf(state, 'searched') !== numberOf(state, 'sequence')) await index()
  }
}

export function createUserSearchStore(engine: Engine, damaged: DamagedRecords): UserSearchStore {
  const addMissing = createEntryIndex(engine, damaged)
  return {
    async searchUsers({ kind, to }, after) {
      await addMissing()
      const found: FoundUser[] = []
      let last: SearchPosition | undefined = after
      // reads on after skipped rows: callers take a page with fewer users than `SEARCH_ROWS` for the last one
      while (last && found.length < SEARCH_ROWS) {
        const rows: readonly Row[] = await engine.ask(
          kind === 'sign-in'
            ? one(STATEMENTS.searchSignIns, Number(last.key), toText(last.name), Number(to))
            : one(STATEMENTS.searchUsers, kind, toText(last.key), toText(last.name), toText(to)),
        )
        const ofUsers = rows.filter(({ record }) => record !== null)
        found.push(...damaged.skip(ofUsers, (row) => ({ key: textOf(row, 'key'), record: readRecordRow(row) })))
        last = rows.length === SEARCH_ROWS ? readPosition(rows.at(-1)) : undefined
      }
      return found.slice(0, SEARCH_ROWS)
    },
    async listKeys({ kind, from, to }, limit) {
      requirePageSize(limit)
      await addMissing()
      const rows = await engine.ask(one(STATEMENTS.listKeys, kind, toText(from), toText(to), limit))
      return rows.map((row) => textOf(row, 'key'))
    },
    async countUsersByKey({ kind, from, to }, limit) {
      requirePageSize(limit)
      await addMissing()
      const rows = await engine.ask(one(STATEMENTS.countUsersByKey, kind, toText(from), toText(to), limit))
      return rows.map((row) => ({ key: textOf(row, 'key'), count: numberOf(row, 'count'), name: textOf(row, 'name') }))
    },
  }
}

/** A client may send U+0000 or half a surrogate pair, which no key contains and no database accepts. */
const toText = (text: string): string => text.toWellFormed().replaceAll('\0', '\ufffd')

const readPosition = (row: Row | undefined): SearchPosition => ({ key: textOf(row, 'key'), name: textOf(row, 'name') })

/** In short transactions with a pause between them: every other write waits for one, and with SQLite every request. */
async function indexAll(engine: Engine, damaged: DamagedRecords): Promise<void> {
  while (await engine.transact(() => indexSome(damaged))) await yieldToOthers()
}

/** Returns whether there may be more. */
function* indexSome(damaged: DamagedRecords): StoreSteps<boolean> {
  const { sequence } = yield* lockCounters()
  const [state] = yield one(STATEMENTS.readSearched)
  const rows = yield one(STATEMENTS.listUnsearched, numberOf(state, 'searched'))
  if (rows.length > 0) yield* writeEntries(damaged.skip(rows, readRecordRow))
  const hasMore = rows.length === INDEXED_ROWS
  yield one(STATEMENTS.writeSearched, hasMore ? numberOf(rows.at(-1), 'sequence') : sequence)
  return hasMore
}

/** The parts of a name stay until the user is deleted: they never change. External accounts once linked stay for good. */
const REMOVALS = [
  [STATEMENTS.removeEntries, 'tombstone'],
  [STATEMENTS.removeChangingEntries, 'user'],
] as const

/** Replaces the entries of these users. Those of a deleted user are removed. */
export function* writeEntries(records: readonly UserRecord[]): StoreSteps<void> {
  for (const [statement, kind] of REMOVALS) {
    const names = records.filter((record) => record.kind === kind).map(({ name }) => name)
    if (names.length > 0) yield manyKeys(statement, names)
  }
  const rows = records.flatMap((record) =>
    record.kind === 'user' ? listEntries(record).map(({ kind, key }) => [kind, key, record.name]) : [],
  )
  if (rows.length > 0) yield many(STATEMENTS.putEntry, rows)
  const users = records.filter(({ kind }) => kind === 'user')
  // those who never sign in are searched too; a later time stays
  const noSignIns = users.map(({ name }) => [name, 0, ''] as const)
  if (noSignIns.length > 0) yield* putSorted(STATEMENTS.putSignIn, noSignIns)
}
