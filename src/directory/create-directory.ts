/**
 * The directory, put together. Requests for users, administrators and sessions enter; what the store answers, judged by
 * the rules, leaves. Nothing remembered may outlive a change that was heard of.
 */

import { createFindAccount } from './accounts.ts'
import { createAdministrators } from './administrator-operations.ts'
import { createKnowledge } from './change-tracker.ts'
import type { DirectoryDeps } from './deps.ts'
import type { Directory } from './directory.ts'
import { createEndedSessions } from './ended-sessions.ts'
import { createImportUsers } from './import-users.ts'
import { createListeners } from './listeners.ts'
import { createNewPasswords } from './new-passwords.ts'
import { createSessions } from './sessions.ts'
import { createStoredWork } from './stored-work.ts'
import { createUpgrade } from './upgrade.ts'
import { createUserMemory } from './user-memory.ts'
import { createUsers } from './user-operations.ts'
import { createUserWriter } from './user-writer.ts'

/** Answers when everything that ended before is known. */
export async function createDirectory(deps: DirectoryDeps): Promise<Directory> {
  const { store, hasher, settings, clock } = deps
  const memory = createUserMemory(store, () => settings().cacheSize)
  const writer = createUserWriter(store, memory)
  const listeners = createListeners(deps.log)
  const ended = createEndedSessions(store, clock)
  const work = createStoredWork(store, deps.administration)
  await Promise.all([ended.pull(), work.refresh()])

  const parts = { ...deps, memory, writer, listeners, ended, work, passwords: createNewPasswords(hasher, settings) }
  const knowledge = createKnowledge(deps, parts)
  const findAccount = createFindAccount({ ...parts, knowledge })
  const upgrade = createUpgrade({ ...parts, findAccount })
  const users = createUsers(parts)
  return {
    ...users,
    importUsers: createImportUsers({ ...parts, users }),
    ...createAdministrators(parts),
    ...createSessions({ ...parts, knowledge, findAccount }),
    findAccount,
    storedWork: work.list,
    upgradeHash: upgrade.begin,
    stalenessMs: knowledge.stalenessMs,
    isFresh: () =>
      knowledge.requireFresh().then(
        () => true,
        () => false,
      ),
    catchUp: knowledge.catchUp,
    async close() {
      await upgrade.settled()
      await knowledge.close()
    },
  }
}
