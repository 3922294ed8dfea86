/**
 * A database for each user, as CouchDB's daemon `couch_peruser` makes them, for users from everywhere. Tests:
 * `test/modules/user-databases/`, `test/scenario/user-databases.test.ts`. Guide: `docs/guides/user-databases.md`. Pages
 * of the console: `console/src/modules/user-databases/` and `console/src/pages/databases/`.
 */
import { EVENT } from '../../observe/security-event-table.ts'
import { defineModule } from '../module.ts'
import { listHealth, noteDaemon, USER_DATABASE_CHECK } from './checks.ts'
import { CREATE_MISSING, GIVE, LIST_WITHOUT_USER } from './commands.ts'
import { USER_DATABASE_OPERATIONS } from './operations.ts'
import { userDatabasesOptions } from './options.ts'
import { findOwnDatabase, type UserDatabaseSettings } from './settings.ts'
import { createDatabaseStep, createWelcome } from './waiting.ts'
import { followUsers, mayUse } from './wishes.ts'
import { createJobKinds } from './work.ts'

const { normal, text, USER } = EVENT

const FIELDS = { ...USER, database: text('Name of the database.'), server: text('CouchDB or ArangoDB.') }

const EVENTS = {
  'user-database.created': normal('database of a user created', '{subject} has the database {database}', FIELDS),
  'user-database.given': normal(
    'database given to a user',
    '{subject} gets the database {database}, with all that it holds',
    FIELDS,
  ),
  'user-database.kept': normal(
    'database of a deleted user kept',
    'The deleted user {subject} has no access to the database {database} any more',
    FIELDS,
  ),
  'user-database.removed': normal('database of a deleted user removed', '{database} of {subject} was removed', FIELDS),
  'user-database.refused': {
    ...normal('database of a user refused', '{subject} does not get the database {database}: {reason}', {
      ...FIELDS,
      reason: text('Why, and so what an administrator has to decide.'),
    }),
    level: 'warn',
    outcome: 'failure',
  },
} as const

export const userDatabases = defineModule({
  name: 'user-databases',
  options: userDatabasesOptions,
  events: EVENTS,
  operations: USER_DATABASE_OPERATIONS,
  store: { onUserChange: followUsers },
  jobs: createJobKinds,
  health: listHealth,
  startNotes: noteDaemon,
  onSignIn: createWelcome,
  async findOwnDatabase(account, settings, statements) {
    const database = findOwnDatabase(account, settings)
    return database !== undefined && (await mayUse(statements, account.name, database)) ? database : undefined
  },
  commands: [CREATE_MISSING, GIVE, LIST_WITHOUT_USER],
  documentDoor: { createSteps: (core) => [createDatabaseStep(core)] },
  checks: [USER_DATABASE_CHECK],
})

type Events = typeof EVENTS
type Operations = typeof USER_DATABASE_OPERATIONS

declare module '../../observe/security-event-table.ts' {
  interface EventRows extends Events {}
}
declare module '../../dialects/admin-api/operations.ts' {
  interface OperationRows extends Operations {}
}
declare module '../../store/create-store.ts' {
  interface StoreSettings extends UserDatabaseSettings {}
}
