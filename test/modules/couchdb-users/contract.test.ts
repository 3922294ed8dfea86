import { randomBytes } from 'node:crypto'
import { describeInCouchdb, LARGE } from '../../contract/in-couchdb.ts'
import { openPouchdbServer } from '../../support/pouchdb-server.ts'
import { createSharedScope } from '../../support/scope.ts'
import { UPSTREAM_SECRET } from '../../support/upstream.ts'

const DROPPED = { reason: 'express-pouchdb drops __proto__', shown: { name: 'AssertionError' } }

const server = openPouchdbServer(createSharedScope())

describeInCouchdb('express-pouchdb', {
  // with a real CouchDB only: they take seconds
  omitted: LARGE,
  exceptions: {
    'a member that would be the prototype of an object is kept': DROPPED,
    'members that CouchDB refuses are kept': DROPPED,
  },
  async createDatabase() {
    const { url, open } = await server
    const name = `users-${randomBytes(6).toString('hex')}`
    await open(name).info()
    return `[upstream]
document = ${url}
document-secret = ${UPSTREAM_SECRET}
[chttpd_auth]
authentication_db = ${name}`
  },
})
