import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type ListenOptions, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Route } from '../../src/http/request-context.ts'
import { loadUnacknowledged } from '../../src/http/slow-clients.ts'
import { request } from '../support/raw.ts'
import { openTestDoor } from './bare-door.ts'

const LENGTH = 64 << 20

const huge: Route = {
  path: '/_open/huge',
  methods: { GET: () => ({ status: 200, headers: [], body: Buffer.alloc(LENGTH) }) },
}

const endless: Route = {
  path: '/_open/endless',
  methods: {
    async GET() {
      return { status: 200, headers: [], body: repeat('x'.repeat(65_536)) }
    },
  },
}

async function* repeat(text: string): AsyncGenerator<string> {
  for (;;) yield text
}

const ask = (port: number, path: string): Socket => {
  const socket = connect(port, '127.0.0.1').on('error', () => {})
  socket.write(request(path))
  return socket
}

for (const path of ['/_open/huge', '/_open/endless'])
  test(`closes the connection of a client that reads nothing of ${path}`, async (t) => {
    const door = await openTestDoor(t, { routes: [huge, endless], limits: { writeTimeoutMs: 200 } })
    const socket = ask(door.port, path).pause()
    const closed = new Promise((resolve) => socket.on('close', resolve))
    // A client that does not read notices a reset when it writes.
    const probe = setInterval(() => socket.write('\r\n'), 50)
    t.after(() => clearInterval(probe))
    await closed
  })

test('keeps the connection of a client that reads with pauses', async (t) => {
  const door = await openTestDoor(t, { routes: [huge], limits: { writeTimeoutMs: 1000 } })
  const socket = ask(door.port, '/_open/huge')
  t.after(() => socket.destroy())
  let bytes = 0
  const start = performance.now()
  socket.on('data', (chunk) => {
    bytes += chunk.length
    if (performance.now() - start > 2000) return
    // Pauses after each chunk, for longer in total than the timeout.
    socket.pause()
    setTimeout(() => socket.resume(), 5)
  })
  while (bytes < LENGTH) await once(socket, 'data')
  assert.ok(performance.now() - start > 2000)
})

test('keeps the connection of a client that reads very slowly', async (t) => {
  const door = await openTestDoor(t, { routes: [huge], limits: { writeTimeoutMs: 1000 } })
  const socket = ask(door.port, '/_open/huge')
  t.after(() => socket.destroy())
  const start = performance.now()
  let bytes = 0
  socket.on('data', (chunk) => {
    bytes += chunk.length
    socket.pause()
    setTimeout(() => socket.resume(), 150)
  })
  while (performance.now() - start < 3500) {
    await once(socket, 'data')
    assert.ok(!socket.destroyed)
  }
  // So little that the send buffer is full most of the time.
  assert.ok(bytes < 4 << 20, `${bytes}`)
})

test('keeps the connection of a client for which no data waits', async (t) => {
  const slow: Route = {
    path: '/_open/slow',
    methods: {
      GET: () => new Promise((resolve) => setTimeout(() => resolve({ status: 200, headers: [], body: 'late' }), 600)),
    },
  }
  const door = await openTestDoor(t, { routes: [slow], limits: { writeTimeoutMs: 100 } })
  const [text] = await once(ask(door.port, '/_open/slow'), 'data')
  assert.match(String(text), /late$/)
})

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
  sender.write(Buffer.alloc(64 << 20))
  return { sender, reader }
}

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
