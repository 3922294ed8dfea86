import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type ListenOptions, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { countQueuedBytes, loadUnacknowledged } from '../../../src/base/node-internals/unsent-bytes.ts'

const WRITTEN = 64 << 20

/** A connection with more unsent data than the system buffers. */
async function openFull(t: TestContext, where: ListenOptions): Promise<{ sender: Socket; reader: Socket }> {
  const server = createServer().listen(where)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const reader = connect({ ...where, port } as { port: number }).on('error', () => {})
  const [sender] = (await once(server, 'connection')) as [Socket]
  t.after(() => {
    sender.on('error', () => {}).destroy()
    reader.destroy()
    server.close()
  })
  sender.write(Buffer.alloc(WRITTEN))
  return { sender, reader }
}

test('knows how much of a write the system has not accepted', async (t) => {
  const { sender } = await openFull(t, { host: '127.0.0.1', port: 0 })
  assert.equal(sender.writableLength, WRITTEN)
  const queued = countQueuedBytes(sender)
  assert.ok(queued > 0 && queued < WRITTEN, `${queued}`)
})

for (const host of ['127.0.0.1', '::1'])
  test(`knows how much a client at ${host} has not acknowledged, and sees it shrink as the client reads`, async (t) => {
    const { sender, reader } = await openFull(t, { host, port: 0 })
    const look = async () => (await loadUnacknowledged([sender])).get(sender)
    if (process.platform !== 'linux') return assert.equal(await look(), undefined)
    let before = await look()
    assert.ok(before !== undefined && before > 0)
    // Until a look finds less, although Node has sent nothing more.
    for (;;) {
      reader.read(16_384)
      await new Promise((resolve) => setImmediate(resolve))
      const now = await look()
      if (now !== undefined && now < before) return
      before = now ?? before
    }
  })

test('knows nothing about Unix sockets and closed sockets', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'cardea-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const { sender } = await openFull(t, { path: join(folder, 'socket') })
  const closed = (await openFull(t, { host: '127.0.0.1', port: 0 })).sender.destroy()
  assert.equal((await loadUnacknowledged([sender, closed])).size, 0)
})
