/**
 * Vaults of Obsidian LiveSync: `cardea livesync add`, and the part of the configuration that the plug-in reads. Tests:
 * `test/scenario/livesync.test.ts`, `test/process/livesync.test.ts`. Guide: `docs/guides/obsidian-livesync.md`.
 */
import { documentGrants } from '../document-grants/index.ts'
import { defineModule } from '../module.ts'
import { userDatabases } from '../user-databases/index.ts'
import { ADD_VAULT } from './commands.ts'
import { createConfigurationStep } from './configuration.ts'
import { LIVESYNC_OPERATIONS } from './operations.ts'

export const livesync = defineModule({
  name: 'livesync',
  needs: [userDatabases, documentGrants],
  operations: LIVESYNC_OPERATIONS,
  commands: [ADD_VAULT],
  documentDoor: { createReplies: (core) => [createConfigurationStep(core)] },
})

type Operations = typeof LIVESYNC_OPERATIONS

declare module '../../dialects/admin-api/operations.ts' {
  interface OperationRows extends Operations {}
}
