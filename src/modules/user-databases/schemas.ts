// What the operations return, also for the console.
import {
  flag,
  integer,
  listOf,
  NEXT,
  namedObject,
  object,
  oneOf,
  type Static,
  text,
} from '../../dialects/admin-api/schemas/schema.ts'

const MEMBERS = {
  server: text('CouchDB or ArangoDB.'),
  database: text(),
  state: oneOf(
    ['ready', 'waiting', 'refused', 'missing'],
    'waiting: it is being created, or the user before it is being removed from it. refused: an administrator has to decide. missing: it is created at the next sign-in.',
  ),
  'reason?': text('Why it is refused.'),
}

const USER_DATABASE = namedObject('UserDatabase', MEMBERS)
export type UserDatabaseView = Static<typeof USER_DATABASE>

export const USER_DATABASES = object({ databases: listOf(USER_DATABASE, 'Empty: the server creates none.') })

export const SUMMARY = object({
  isEnabled: flag('user-databases.enabled.'),
  prefix: text(
    'What the names of the databases begin with. The rest is the name of the user in UTF-8, as hexadecimal digits.',
  ),
  waiting: integer('Jobs that are not done yet.'),
  'problem?': text('Why the last attempt of one of them failed.'),
  refused: listOf(namedObject('RefusedDatabase', { user: text(), ...MEMBERS }), 'At most 1000.'),
})

export type UserDatabasesView = Static<typeof SUMMARY>

export const WITHOUT_USER = object({
  databases: listOf(
    namedObject('DatabaseWithoutUser', { server: text('CouchDB or ArangoDB.'), database: text(), user: text() }),
    'At most 1000.',
  ),
})

export const GIVEN_DATABASES = object({ wished: integer('Databases that the user gets.') })

export const CREATION_QUERY = object({
  'after?': text('`next` of the previous page.'),
  'all?': oneOf(['true', 'false'], 'Also look at those that users have, and create the ones that are no longer there.'),
})
export const CREATION_PAGE = object({
  checked: integer('Users on the page.'),
  wished: integer('Databases that will be created.'),
  'next?': NEXT,
})
