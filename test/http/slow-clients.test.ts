import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import type { Route } from '../../src/http/request-context.ts'
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
