import { createNotifier } from '../base/notifier.ts'
import { createAccountFinder, createHashWorkList } from './accounts.ts'
import { createChangeTracker } from './change-tracker.ts'
import type { DirectoryDeps, Revocation } from './deps.ts'
import { createEndedSessions } from './sessions/ended-sessions.ts'
import { createNewPasswords } from './users/new-passwords.ts'
import { createUserCache } from './users/user-cache.ts'
import { createUserWriter } from './users/user-writer.ts'
import { type AdministrationReader, createBegin, type EndedReader, type StoreReader } from './writes.ts'

/** What the operations of the directory share. */
export type DirectoryParts = Awaited<ReturnType<typeof loadParts>>

/** Resolves when all sessions ended so far are loaded. */
export async function loadParts(deps: DirectoryDeps) {
  const { source, administration, settings } = deps
  const store = source?.wrap(deps.store) ?? deps.store
  const cache = createUserCache({
    store,
    size: () => settings().chttpd_auth.auth_cache_size,
    knownTo: () => tracker.sequence(),
    counts: deps.cacheCounts,
  })
  const revocations = createNotifier<Revocation>(deps.log)
  const ended = createEndedSessions(store, deps.clock.purge)
  const hashWork = createHashWorkList(store, administration)
  await Promise.all([ended.load(0), hashWork.refresh()])
  const tracker = createChangeTracker(deps, { cache, ended, revocations, hashWork })
  const writeRecord = createUserWriter(store, cache, deps)
  const findHashParameters = async () =>
    (await source?.toHashParameters(settings().parameters)) ?? settings().parameters
  return {
    ...deps,
    store: store as StoreReader,
    administration: administration as AdministrationReader,
    ended: ended as EndedReader,
    ...createBegin({ store, administration, ended, writeRecord }, deps.events),
    cache,
    revocations,
    hashWork,
    tracker,
    findHashParameters,
    passwords: createNewPasswords(deps.hasher, settings, findHashParameters),
    ...createAccountFinder(administration, cache, tracker, deps),
  }
}
