/** What a store promises about users, with users in this CouchDB. */
import { randomBytes } from 'node:crypto'
import { after, before, describe } from 'node:test'
import { describeInCouchdb } from '../contract/in-couchdb.ts'
import { findBlock } from '../docs/page.ts'
import type { Couchdb } from './couchdb.ts'
import { fillSecret, GUIDE } from './in-front.ts'

/** Checks each document of `_users`. Each database of a test gets it, too. */
const DESIGN = '_design/_auth'

export function testContract(couchdb: Couchdb): void {
  describe('users in a real CouchDB', () => {
    const secret = randomBytes(32).toString('hex')
    let undo = async () => {}
    before(async () => {
      undo = await couchdb.configure(fillSecret(findBlock(GUIDE, 'ini couchdb'), secret))
    })
    after(() => undo())
    describeInCouchdb('CouchDB', {
      exceptions: {
        'members that CouchDB refuses are kept': {
          reason: 'the client gets the reason of CouchDB',
          shown: { code: 'bad_request', reason: 'CouchDB: invalid UTF-8 JSON' },
        },
      },
      async createDatabase(scope) {
        const name = `cardea-test-${randomBytes(6).toString('hex')}`
        await couchdb.request('PUT', `/${name}`)
        scope.after(() => couchdb.request('DELETE', `/${name}`))
        const { _rev, ...design } = Object(await couchdb.request('GET', `/_users/${DESIGN}`))
        await couchdb.request('PUT', `/${name}/${DESIGN}`, design)
        return `[upstream]
document = ${couchdb.url}
document-secret = ${secret}
[chttpd_auth]
authentication_db = ${name}`
      },
    })
  })
}
