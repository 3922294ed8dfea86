/** With users in CouchDB the recorded requests get the same responses as with users of Cardea's own. */
import { openPouchdbServer } from '../support/pouchdb-server.ts'
import { beforeDocument } from '../support/upstream.ts'
import { type Exception, replayCases } from './replay.ts'

/** None is about users: they differ with users of Cardea's own, too, if a database is behind the door. */
const EXCEPTIONS: Readonly<Record<string, Exception>> = {
  'admins/unknown-node': { reason: 'other nodes are those of the database, which has none', shown: /no_db_file/ },
  'required/authenticated': { reason: 'the database greets, and it is no CouchDB', shown: /express-pouchdb/ },
}

replayCases('document', {
  // without users
  omitted: ['config', 'cors', 'proxy', 'server'],
  openOptions: async (scope) => {
    const database = await openPouchdbServer(scope)
    await database.open('_users').info()
    return { ...beforeDocument(database.url), directory: { source: 'couchdb' } }
  },
  exceptions: EXCEPTIONS,
})
