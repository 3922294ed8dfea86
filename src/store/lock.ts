import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { StoreLock } from './sqlite/lock.ts'
import { findStoreFile } from './store-url.ts'

export type { StoreLock } from './sqlite/lock.ts'

const AGAIN_MS = 50

/** Nobody else can reach what is in memory, and a server like PostgreSQL is made to be shared. */
const NOTHING_TO_LOCK: StoreLock = Object.freeze({ release: () => {} })

/**
 * Takes the store for this process alone, so that nothing is changed behind a running server. `undefined`: somebody
 * else has had it all that time.
 */
export async function lockStore(url: string, waitMs: number): Promise<StoreLock | undefined> {
  const file = findStoreFile(url)
  if (file === undefined) return NOTHING_TO_LOCK
  const { tryLock } = await import('./sqlite/lock.ts')
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const until = performance.now() + waitMs
  for (;;) {
    const lock = tryLock(`${file}.lock`)
    if (lock || performance.now() >= until) return lock
    await pause(AGAIN_MS)
  }
}
