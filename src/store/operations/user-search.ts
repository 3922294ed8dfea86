/**
 * Entries by which users are searched. They are written with the user. An older version does not write them: then the
 * sequence `searched` stays behind, and the next search adds what is missing.
 */
import type { UserSearchStore } from '../../directory/store-port.ts'
import type { User, UserRecord } from '../../directory/user.ts'
import { listEntries } from '../../directory/user-search.ts'
import { type Engine, many, numberOf, type Operation, one, type Row, textOf } from '../engine.ts'
import { readRecord, readUser } from '../record.ts'
import { INDEXED_ROWS, STATEMENTS } from '../statements.ts'
import { lockCounters } from './changes.ts'

export function createUserSearchStore(engine: Engine): UserSearchStore {
  let running: Promise<void> | undefined
  const addMissing = async () => {
    const [state] = await engine.ask(one(STATEMENTS.readSearched))
    if (numberOf(state, 'searched') === numberOf(state, 'sequence')) return
    running ??= indexAll(engine).finally(() => {
      running = undefined
    })
    await running
  }
  return {
    async searchUsers({ kind, to }, after) {
      await addMissing()
      const rows = await engine.ask(
        one(STATEMENTS.searchUsers, kind, toText(after.key), toText(after.name), toText(to)),
      )
      return rows.map(readFound)
    },
  }
}

/** A client may send U+0000 or half a surrogate pair, which no key contains and no database accepts. */
const toText = (text: string): string => text.toWellFormed().replaceAll('\0', '\ufffd')

const readFound = (row: Row): { key: string; record: User } => ({
  key: textOf(row, 'key'),
  record: readUser(textOf(row, 'name'), textOf(row, 'record')),
})

/** In short transactions: every other write waits for one. */
async function indexAll(engine: Engine): Promise<void> {
  while (await engine.transact(indexSome));
}

/** Returns whether there may be more. */
function* indexSome(): Operation<boolean> {
  const { sequence } = yield* lockCounters()
  const [state] = yield one(STATEMENTS.readSearched)
  const rows = yield one(STATEMENTS.listUnsearched, numberOf(state, 'searched'))
  if (rows.length > 0) yield* writeEntries(rows.map(readRow))
  const hasMore = rows.length === INDEXED_ROWS
  yield one(STATEMENTS.writeSearched, hasMore ? numberOf(rows.at(-1), 'sequence') : sequence)
  return hasMore
}

const readRow = (row: Row): UserRecord =>
  readRecord(textOf(row, 'name'), numberOf(row, 'is_live') === 1, textOf(row, 'record'))

/** Replaces the entries of these users. Those of a deleted user are removed. */
export function* writeEntries(records: readonly UserRecord[]): Operation<void> {
  yield many(
    STATEMENTS.removeEntries,
    records.map(({ name }) => [name]),
  )
  const rows = records.flatMap((record) =>
    record.kind === 'user' ? listEntries(record).map(({ kind, key }) => [kind, key, record.name]) : [],
  )
  if (rows.length > 0) yield many(STATEMENTS.putEntry, rows)
}
