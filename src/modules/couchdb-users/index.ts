/**
 * Users that stay in CouchDB: the store has a copy of them, which follows the changes there. Tests:
 * `test/modules/couchdb-users/`, `test/scenario/couchdb-users.test.ts`,
 * `test/scenario/couchdb-users-writes.test.ts`, `test/scenario/couchdb-users-nodes.test.ts`,
 * `test/scenario/couchdb-users-adopt.test.ts`, `test/process/couchdb-users.test.ts`,
 * `test/conformance/users-in-couchdb.test.ts`, `test/contract/in-couchdb.ts`; with a real CouchDB `users.ts`, `contract.ts`,
 * `cases.ts`, `restore.ts` and `user-replication.ts` of `test/real/`. Page: `docs/reference/users-in-couchdb.md`.
 */
import { EVENT } from '../../observe/security-event-table.ts'
import { defineModule } from '../module.ts'
import { COUCHDB_USERS_CHECK } from './checks.ts'
import { ADOPT, RELEASE } from './commands.ts'
import { removeIntents } from './intents.ts'
import { DIRECTORY_OPERATIONS } from './operations.ts'
import { couchdbUsersOptions } from './options.ts'
import { openCouchdbUsers } from './source.ts'
import { noteUsersThere } from './start.ts'

const EVENTS = {
  'directory.move-begun': EVENT.notable('move of users begun', 'The move of the users to {target} was begun', {
    target: EVENT.text('`CouchDB` or `Cardea`.'),
  }),
  'directory.conflict': {
    ...EVENT.normal(
      'user with conflicts in CouchDB',
      'The document of {subject} in CouchDB has conflicts: the user cannot sign in until they are resolved',
      EVENT.USER,
    ),
    level: 'warn',
    outcome: 'failure',
  },
} as const

export const couchdbUsers = defineModule({
  name: 'couchdb-users',
  options: couchdbUsersOptions,
  events: EVENTS,
  userSource: openCouchdbUsers,
  store: { onUserChange: removeIntents },
  startNotes: noteUsersThere,
  checks: [COUCHDB_USERS_CHECK],
  operations: DIRECTORY_OPERATIONS,
  commands: [ADOPT, RELEASE],
})

type Events = typeof EVENTS
type Operations = typeof DIRECTORY_OPERATIONS

declare module '../../observe/security-event-table.ts' {
  interface EventRows extends Events {}
}
declare module '../../dialects/admin-api/operations.ts' {
  interface OperationRows extends Operations {}
}
