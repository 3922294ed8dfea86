import { createNotifier } from '../base/notifier.ts'
import { createAccountFinder, createHashWorkList } from './accounts.ts'
import { createAdministrators } from './administrator-operations.ts'
import { createChangeTracker } from './change-tracker.ts'
import type { DirectoryDeps } from './deps.ts'
import type { Directory } from './directory.ts'
import type { Revocation } from './revocation.ts'
import { createSecondFactors } from './second-factor/second-factor.ts'
import { createEndedSessions } from './sessions/ended-sessions.ts'
import { createSessionNotes, type SessionNotesDeps } from './sessions/session-notes.ts'
import { createSessionRecords } from './sessions/session-records.ts'
import { createSessions } from './sessions/sessions.ts'
import { createSignInNotes } from './sign-in-notes.ts'
import { createTokenUses } from './token-uses.ts'
import { createImportUsers } from './users/import-users.ts'
import { createNewPasswords } from './users/new-passwords.ts'
import { createHashUpgrade } from './users/upgrade-hash.ts'
import { createUserCache } from './users/user-cache.ts'
import { createUserEditor, createUserReader } from './users/user-operations.ts'
import { createUserSearch } from './users/user-search.ts'
import { createUserWriter } from './users/user-writer.ts'

/** Resolves when all sessions ended so far are loaded. */
export async function createDirectory(deps: DirectoryDeps): Promise<Directory> {
  const parts = await loadParts(deps)
  const { hashWork, tracker } = parts
  const { findAccount, peekAccount } = createAccountFinder(parts)
  const upgrade = createHashUpgrade({ ...parts, findAccount })
  const editor = createUserEditor(parts)
  const sessions = createSessions({ ...parts, findAccount })
  const { notes, uses, closeNotes } = createNotes(deps, (records) => recorded.endSurplus(records))
  const recorded = createSessionRecords({ ...parts, notes, sessions, findAccount })
  return {
    ...createUserReader(parts),
    ...createUserSearch(deps.store, deps.clock),
    ...editor,
    importUsers: createImportUsers({ ...parts, editor }),
    ...createAdministrators(parts),
    ...createSecondFactors({ ...parts, editor, findAccount }),
    ...sessions,
    ...recorded.list,
    ...uses,
    findAccount,
    peekAccount,
    storedWork: hashWork.list,
    upgradeHash: upgrade.begin,
    isUpgradeDue: upgrade.isDue,
    stalenessMs: tracker.stalenessMs,
    isFresh: tracker.isFresh,
    catchUp: tracker.catchUp,
    async close() {
      await upgrade.settled()
      await closeNotes()
      await tracker.close()
    },
  }
}

/** What the operations share. Resolves when all sessions ended so far are loaded. */
async function loadParts(deps: DirectoryDeps) {
  const { store, hasher, settings, steadyClock } = deps
  const cache = createUserCache(store, () => settings().cacheSize, deps.cacheCounts)
  const writer = createUserWriter(store, cache)
  const revocations = createNotifier<Revocation>(deps.log)
  const ended = createEndedSessions(store, steadyClock)
  const hashWork = createHashWorkList(store, deps.administration)
  await Promise.all([ended.pull(), hashWork.refresh()])
  const passwords = createNewPasswords(hasher, settings)
  const tracker = createChangeTracker(deps, { cache, ended, revocations, hashWork })
  return { ...deps, cache, writer, revocations, ended, hashWork, passwords, tracker }
}

/** What is noted about sessions, access tokens and sign-ins, for administrators. */
function createNotes(
  { store, clock }: Pick<DirectoryDeps, 'store' | 'clock'>,
  onWritten: SessionNotesDeps['onWritten'],
) {
  const notes = createSessionNotes({ store, clock, onWritten })
  const { close: closeTokenUses, ...tokenUses } = createTokenUses(store, clock)
  const { close: closeSignIns, ...signIns } = createSignInNotes(store, clock)
  return {
    notes,
    uses: { ...tokenUses, ...signIns },
    async closeNotes() {
      await notes.close()
      await closeTokenUses()
      await closeSignIns()
    },
  }
}
