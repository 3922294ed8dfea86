import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type ListenOptions, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { loadUnacknowledged } from '../../src/http/unacknowledged.ts'

/** A connection with more on its way than the system takes at once. */
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
  sender.write(Buffer.alloc(64 << 20))
  return { sender, reader }
}

for (const host of ['127.0.0.1', '::1'])
  test(`what ${host} has not taken is known, and becomes less as it takes`, { timeout: 10_000 }, async (t) => {
    const { sender, reader } = await openFull(t, { host, port: 0 })
    const look = async () => (await loadUnacknowledged([sender])).get(sender)
    if (process.platform !== 'linux') return assert.equal(await look(), undefined)
    let before = await look()
    assert.ok(before !== undefined && before > 0)
    // until the first look that finds less, with what Node has handed on unchanged
    for (;;) {
      reader.read(16_384)
      await new Promise((resolve) => setImmediate(resolve))
      const now = await look()
      if (now !== undefined && now < before) return
      before = now ?? before
    }
  })

test('nothing is known of a Unix socket, nor of one that is closed', { timeout: 10_000 }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'cardea-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const { sender } = await openFull(t, { path: join(folder, 'socket') })
  const closed = (await openFull(t, { host: '127.0.0.1', port: 0 })).sender.destroy()
  assert.equal((await loadUnacknowledged([sender, closed])).size, 0)
})
