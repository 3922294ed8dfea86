/** What CouchDB replies to a change of a user. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Refusal } from '../../../src/base/errors.ts'
import { createUsersDatabase, mayBeWritten } from '../../../src/modules/couchdb-users/database.ts'
import { toId } from '../../support/users-in-couchdb.ts'

const REPLIES = [
  ['that is not JSON for it', 400, 'invalid UTF-8 JSON', 'bad_request', 'CouchDB: invalid UTF-8 JSON'],
  ['that its design document forbids', 403, 'roles!', 'forbidden', 'CouchDB: roles!'],
  ['that is too large', 413, toId('ada'), 'document_too_large', undefined],
  ['with an identity that it rejects', 401, 'no', 'upstream_failed', undefined],
] as const

for (const [what, status, reason, code, shown] of REPLIES)
  it(`refuses a change ${what} with ${code}: nothing was changed`, async () => {
    const database = createUsersDatabase(() => ({ askAs: async () => ({ status, body: { reason } }) }), '_users')
    const error = await database.writeDocument(toId('ada'), {}).catch((cause: unknown) => cause)
    assert.ok(error instanceof Refusal)
    assert.deepEqual([error.code, error.reason, mayBeWritten(error)], [code, shown, false])
  })
