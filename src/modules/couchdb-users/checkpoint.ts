/**
 * A document in the database that is not replicated. Its newest entry is written before the changes that it covers are
 * stored, so a database that lacks the entry of the store was restored from a backup, or is another one.
 */
import { randomUUID } from 'node:crypto'
import type { UsersDatabase } from './database.ts'
import type { CopyProgress } from './state.ts'

/** Entries that are kept. More than can be written while a page is. */
const MAX_HISTORY = 20

export interface FeedCheckpoint {
  readonly id: string
  readonly revision: string | undefined
  readonly history: readonly string[]
}

export async function readFeedCheckpoint(database: UsersDatabase, { copy }: CopyProgress): Promise<FeedCheckpoint> {
  const id = `cardea-${copy}`
  const { _rev: revision, history } = (await database.readLocal(id)) ?? {}
  return {
    id,
    revision: typeof revision === 'string' ? revision : undefined,
    history: Array.isArray(history) ? history.filter((entry) => typeof entry === 'string') : [],
  }
}

/** Whether the database has had all changes that are in the store. */
export const covers = ({ history }: FeedCheckpoint, { checkpoint }: CopyProgress): boolean =>
  checkpoint === '' || history.includes(checkpoint)

/**
 * The new entry; `undefined`: the document is no longer the one that was read. `known`: the entry of the store, which stays
 * in the history, however often the store could not be written after it.
 */
export async function addEntry(
  database: UsersDatabase,
  { id, revision, history }: FeedCheckpoint,
  known: string,
): Promise<string | undefined> {
  const entry = randomUUID()
  const entries = [entry, known, ...history.filter((each) => each !== known)].slice(0, MAX_HISTORY)
  const isWritten = await database.writeLocal(id, { history: entries, ...(revision && { _rev: revision }) })
  return isWritten ? entry : undefined
}
