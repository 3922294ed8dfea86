import { boolean, matching, oneWordOf, SECOND, timer, whole } from '../../config/codecs.ts'
import { live } from '../../config/option-table.ts'

/** What CouchDB accepts at the beginning of the name of a database; the rest is hexadecimal digits. */
const prefix = matching(
  'a lower-case letter, then lower-case letters, digits and _$()+-/',
  /^[a-z][a-z0-9_$()+/-]{0,99}$/,
)

export const userDatabasesOptions = {
  rows: {
    'user-databases.enabled': live(boolean, false, {
      help: 'Whether each user has a database of its own, behind each door that has a database server.',
      more: 'Users that exist get theirs at the next sign-in, or with cardea databases create-missing. Turn off couch_peruser in CouchDB.',
    }),
    'user-databases.prefix': live(prefix, 'userdb-', {
      help: 'What the names of these databases begin with, as database_prefix of couch_peruser.',
      more: 'The name of the user follows, in UTF-8, as hexadecimal digits. After a change, users get other databases.',
    }),
    'user-databases.on-delete': live(oneWordOf(['keep', 'remove']), 'keep', {
      help: 'What happens to the database of a user that is deleted.',
      more: 'keep: the name is removed from its _security. remove: the database is deleted. While the users are in CouchDB, a deletion that Cardea has not seen keeps it.',
    }),
    'user-databases.shards': live(whole(0, 1024), 0, {
      help: 'Shards of a new database in CouchDB (q). 0: as many as CouchDB makes by default.',
    }),
    'user-databases.wait': live(timer('zero'), 3 * SECOND, {
      help: 'Seconds that a sign-in waits for the database of the user.',
      more: 'Then the client gets its session anyway. Its requests to that database wait as long, and are 503 until it is there.',
    }),
  },
  sections: { 'user-databases': 'A database for each user, as couch_peruser of CouchDB makes them.' },
}
