// Attempts to create a database that take too long.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCouchdb } from '../../../src/modules/user-databases/couchdb.ts'
import { createAsk } from '../../../src/modules/user-databases/server.ts'

test('an attempt that was ended sends nothing more: the user may have been deleted meanwhile', async () => {
  const ended = new AbortController()
  const sent: string[] = []
  const couchdb = {
    async askAs(_identity: unknown, { path, method = 'GET' }: { readonly path: string; readonly method?: string }) {
      sent.push(`${method} ${path}`)
      ended.abort()
      return { status: 201, body: { ok: true } }
    },
  }
  const server = createCouchdb(createAsk(couchdb, ended.signal))
  await assert.rejects(
    server.create('userdb-616461', 'ada', { claim: 'none', shards: 0, mayBeHalfMade: false }),
    /abort/,
  )
  assert.deepEqual(sent, ['PUT /userdb-616461'])
})
