import { createNotifier } from '../base/notifier.ts'
import { createAccountFinder, createHashWorkList } from './accounts.ts'
import { createChangeTracker } from './change-tracker.ts'
import type { DirectoryDeps, Revocation } from './deps.ts'
import { EndedSessions } from './sessions/ended-sessions.ts'
import { createNewPasswords } from './users/new-passwords.ts'
import { createUserCache } from './users/user-cache.ts'
import { createUserWriter } from './users/user-writer.ts'

/** What the operations of the directory share. */
export type DirectoryParts = Awaited<ReturnType<typeof loadParts>>

/** Resolves when all sessions ended so far are loaded. */
export async function loadParts(deps: DirectoryDeps) {
  const { store, administration, settings } = deps
  const cache = createUserCache({
    store,
    size: () => settings().cacheSize,
    knownTo: () => tracker.sequence(),
    counts: deps.cacheCounts,
  })
  const revocations = createNotifier<Revocation>(deps.log)
  const ended = new EndedSessions(store, deps.clock.purge)
  const hashWork = createHashWorkList(store, administration)
  await Promise.all([ended.load(0), hashWork.refresh()])
  const tracker = createChangeTracker(deps, { cache, ended, revocations, hashWork })
  return {
    ...deps,
    cache,
    revocations,
    ended,
    hashWork,
    tracker,
    writeRecord: createUserWriter(store, cache, settings),
    passwords: createNewPasswords(deps.hasher, settings),
    ...createAccountFinder(administration, cache, tracker, deps),
  }
}
