import { createAdministrators } from './administrator-operations.ts'
import type { DirectoryDeps } from './deps.ts'
import type { Directory } from './directory.ts'
import { createSignInNotes, createTokenUses } from './last-uses.ts'
import { loadParts } from './parts.ts'
import { createSecondFactors } from './second-factor/second-factor.ts'
import { createSessionRecords } from './sessions/session-records.ts'
import { createSessions } from './sessions/sessions.ts'
import { createImportUsers } from './users/import-users.ts'
import { createHashUpgrade } from './users/upgrade-hash.ts'
import { createUserEditor, createUserReader } from './users/user-operations.ts'
import { createUserSearch } from './users/user-search.ts'

/** Resolves when all sessions ended so far are loaded. */
export async function createDirectory(deps: DirectoryDeps): Promise<Directory> {
  const { store, clock } = deps
  const parts = await loadParts(deps)
  const { hashWork, tracker, findAccount, peekAccount } = parts
  const upgrade = createHashUpgrade(parts)
  const editor = createUserEditor(parts)
  const sessions = createSessions(parts)
  const { close: closeRecords, ...records } = createSessionRecords(parts, sessions)
  const { close: closeTokenUses, ...tokenUses } = createTokenUses(store, clock)
  const { close: closeSignIns, ...signIns } = createSignInNotes(store, clock)
  return {
    ...createUserReader(store),
    ...createUserSearch(store, clock),
    ...editor,
    importUsers: createImportUsers(parts, editor),
    ...createAdministrators(parts),
    ...createSecondFactors(parts, editor),
    ...sessions,
    ...records,
    ...tokenUses,
    ...signIns,
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
      await closeRecords()
      await closeTokenUses()
      await closeSignIns()
      await tracker.close()
    },
  }
}
