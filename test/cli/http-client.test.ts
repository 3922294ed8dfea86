import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { explainFailure, send } from '../../src/cli/remote.ts'

test('says how long it waited for a server that accepts connections and never answers', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const address = server.address()
  assert.ok(address && typeof address === 'object')
  server.on('connection', (socket) => t.after(() => socket.destroy()))
  const failure = await send(new URL(`http://127.0.0.1:${address.port}/`), { timeoutMs: 100 }).catch(explainFailure)
  assert.equal(failure, 'it did not answer within 0.1 seconds')
})
