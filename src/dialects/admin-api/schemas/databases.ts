// What the API shows of the databases behind the doors.
import { count, flag, integer, listOf, NEXT, namedObject, object, type Static, text } from './schema.ts'

const HOLDERS = object({ names: listOf(text()), roles: listOf(text()) })
export const SECURITY = namedObject('Security', { admins: HOLDERS, members: HOLDERS })
export type SecurityView = Static<typeof SECURITY>

const DATABASE = namedObject('Database', {
  name: text('`*`: grants on all databases.'),
  'security?': SECURITY,
  'securityProblem?': text('Why `_security` of a CouchDB database is not shown.'),
  isInArangodb: flag('Whether ArangoDB has it.'),
  users: integer('Users with a grant on it, or on one of its collections. At most 10000 are counted.'),
})
export type DatabaseView = Static<typeof DATABASE>

const UPSTREAM = object({
  isSet: flag('Whether the door has a database behind it.'),
  'problem?': text('Why its databases are missing from the list.'),
})

const MAX_DATABASES = 100
export const DATABASE_QUERY = object({
  'search?': text('The beginning of a name.'),
  'role?': text('Of the databases of the page, only those whose `_security` names the role.'),
  'after?': text('`next` of the previous page.'),
  'limit?': count(MAX_DATABASES, `Databases on the page, at most ${MAX_DATABASES}.`),
})
export const DATABASE_PAGE = object({
  databases: listOf(DATABASE, 'In the order of their names.'),
  couchdb: UPSTREAM,
  arangodb: UPSTREAM,
  'next?': NEXT,
})
export type DatabasePageView = Static<typeof DATABASE_PAGE>

export const SECURITY_CHANGE = object({ security: SECURITY, expected: SECURITY })
