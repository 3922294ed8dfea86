import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { toBrowserAddress, toLocalAddress } from '../../src/cli/browser-address.ts'

const ADDRESSES: readonly [listener: string, local: string, browser: string][] = [
  ['http://127.0.0.1:1', 'http://127.0.0.1:1', 'http://localhost:1'],
  ['http://[::]:1', 'http://127.0.0.1:1', 'http://localhost:1'],
  ['http://0.0.0.0:1', 'http://127.0.0.1:1', 'http://localhost:1'],
  ['https://[::]:1', 'https://127.0.0.1:1', 'https://localhost:1'],
  ['https://127.0.0.1:1', 'https://127.0.0.1:1', 'https://127.0.0.1:1'],
  ['http://[::1]:1', 'http://[::1]:1', 'http://[::1]:1'],
  ['http://10.0.0.1:1', 'http://10.0.0.1:1', 'http://10.0.0.1:1'],
]

for (const [listener, local, browser] of ADDRESSES)
  test(`a listener at ${listener} is reached at ${local}, by a browser at ${browser}`, async () => {
    assert.deepEqual([toLocalAddress(listener), await toBrowserAddress(listener)], [local, browser])
  })

test('a browser is not sent to the program that has the port at ::1', async (t) => {
  const other = createServer().listen(0, '::1')
  t.after(() => other.close())
  await once(other, 'listening')
  const { port } = Object(other.address())
  const local = `http://127.0.0.1:${port}`
  for (const host of ['127.0.0.1', '0.0.0.0']) assert.equal(await toBrowserAddress(`http://${host}:${port}`), local)
})
