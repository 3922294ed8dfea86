import { type Clock, nowSeconds } from '../../base/clock.ts'
import { Refusal } from '../../base/errors.ts'
import type { DirectorySettings } from '../deps.ts'
import type { Stored, UserStore } from '../store-port/users.ts'
import { findApart } from './apart.ts'
import type { User, UserRecord } from './user.ts'
import type { UserCache } from './user-cache.ts'

/** The expected `_rev` of the document, or `any`. */
export type ExpectedRevision = string | 'any'

const ACCOUNT_TAKEN = 'Another user has this external account, address or name already.'

export const NAME_TAKEN = 'Another user has a name that differs only in case or in the form of its characters.'

/** Why a write was refused, by its outcome. */
export const WRITE_REASONS: ReadonlyMap<string, string> = new Map([
  ['taken', ACCOUNT_TAKEN],
  ['look-alike', NAME_TAKEN],
])

/** Whether the write creates a user. A deleted name is free. */
const isNewName = (stored: Stored | undefined, record: UserRecord): boolean =>
  record.kind === 'user' && stored?.record.kind !== 'user'

/** Writers of this process take turns, so an attempt fails only when another node has written. */
const MAX_ATTEMPTS = 100

export type WriteRecord = ReturnType<typeof createUserWriter>

/**
 * Replaces records safely while other writers do the same: stores what `decide` returns for the current record;
 * `undefined` writes nothing. `decide` is called again if another node was faster. If it throws, nothing is written.
 */
export function createUserWriter(
  store: UserStore,
  cache: UserCache,
  { settings, clock }: { settings(): Pick<DirectorySettings, 'auth' | 'addressesSignIn'>; readonly clock: Clock },
) {
  const inTurn = createKeyedQueue()

  const attempt = async <R extends UserRecord | undefined>(
    name: string,
    decide: (stored: Stored | undefined) => R,
  ): Promise<{ readonly record: R } | undefined> => {
    const stored = await store.findUser(name)
    const record = decide(stored)
    if (!record) return { record }
    try {
      const isDistinct = settings().auth.names === 'folded' && isNewName(stored, record)
      const apart = settings().addressesSignIn ? findApart(stored?.record, record) : {}
      const change = { before: stored?.record, at: nowSeconds(clock) }
      const outcome = await store.writeUser({
        expected: stored?.sequence ?? 'absent',
        record,
        isDistinct,
        apart,
        change,
      })
      const reason = WRITE_REASONS.get(outcome.kind)
      if (reason !== undefined) throw new Refusal('conflict', { reason })
      // of the same kind
      return outcome.kind === 'written' ? { record: (outcome.record ?? record) as R } : undefined
    } finally {
      // also after an error: the write may have succeeded
      cache.forget(name)
    }
  }

  return <R extends UserRecord | undefined>(name: string, decide: (stored: Stored | undefined) => R): Promise<R> =>
    inTurn(name, async () => {
      for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts += 1) {
        const done = await attempt(name, decide)
        if (done) return done.record
      }
      throw new Refusal('conflict')
    })
}

/** Runs work with the same key one after the other, work with different keys at the same time. */
function createKeyedQueue(): <T>(key: string, work: () => Promise<T>) => Promise<T> {
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

/** The stored user, if it has the expected revision. */
export function requireExpected(stored: Stored | undefined, expected: ExpectedRevision): User {
  if (stored?.record.kind !== 'user') throw new Refusal('not_found')
  if (expected !== 'any' && stored.record.document.revision !== expected) throw new Refusal('conflict')
  return stored.record
}

/** The tombstone of the name, if no user has it. */
export function requireFree(stored: Stored | undefined): Exclude<UserRecord, User> | undefined {
  if (stored?.record.kind !== 'user') return stored?.record
  throw new Refusal('conflict', { reason: `A user has the name ${stored.record.name} already.` })
}
