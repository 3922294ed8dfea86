import { Refusal } from '../base/errors.ts'
import type { ExpectedRevision } from './directory.ts'
import type { Stored, UserStore } from './store-port.ts'
import type { User, UserRecord } from './user.ts'
import type { UserMemory } from './user-memory.ts'

/** Writes one record in the place of what is there, however many others do the same. */
export interface UserWriter {
  /**
   * Stores what `decide` makes of the record there is. Where another node was faster, it is asked again; what it throws
   * ends the attempt and has changed nothing. `undefined`: leave it as it is.
   */
  write<R extends UserRecord>(name: string, decide: (stored: Stored | undefined) => R): Promise<R>
  write<R extends UserRecord>(
    name: string,
    decide: (stored: Stored | undefined) => R | undefined,
  ): Promise<R | undefined>
}

/** Writers of this process take turns, so each loss is another node's gain: nobody loses that often. */
const MAX_ATTEMPTS = 100

export function createUserWriter(store: UserStore, memory: UserMemory): UserWriter {
  const inTurn = createTurns()

  const attempt = async <R extends UserRecord>(
    name: string,
    decide: (stored: Stored | undefined) => R | undefined,
  ): Promise<{ readonly record: R | undefined } | undefined> => {
    const stored = await store.findUser(name)
    const record = decide(stored)
    if (!record) return { record }
    try {
      const outcome = await store.writeUser({ expected: stored?.sequence ?? 'absent', record })
      return outcome.kind === 'written' ? { record } : undefined
    } finally {
      // also where the answer was lost: the write may be there
      memory.forget(name)
    }
  }

  const write = <R extends UserRecord>(name: string, decide: (stored: Stored | undefined) => R | undefined) =>
    inTurn(name, async () => {
      for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts += 1) {
        const done = await attempt(name, decide)
        if (done) return done.record
      }
      throw new Refusal('conflict')
    })
  // what always decides on a record always gets one; the overloads say so
  return { write: write as UserWriter['write'] }
}

/** One after the other for each key; different keys side by side. */
function createTurns(): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>()
  return async (key, work) => {
    const mine = (last.get(key) ?? Promise.resolve()).then(work)
    const settled = mine.catch(() => {})
    last.set(key, settled)
    try {
      return await mine
    } finally {
      if (last.get(key) === settled) last.delete(key)
    }
  }
}

/** The user of that record, if its revision is the one expected. */
export function requireUser(stored: Stored | undefined, expected: ExpectedRevision): User {
  if (stored?.record.kind !== 'user') throw new Refusal('not_found')
  if (expected !== 'any' && stored.record.document.revision !== expected) throw new Refusal('conflict')
  return stored.record
}

/** What the name held before, if nobody has it now. */
export function requireFree(stored: Stored | undefined): Exclude<UserRecord, User> | undefined {
  if (stored?.record.kind === 'user') throw new Refusal('conflict')
  return stored?.record
}
