import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import type { Route } from '../../src/http/request-context.ts'
import { openTestDoor } from '../support/door.ts'
import { request } from '../support/raw.ts'

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
  test(`a client that takes nothing of ${path} is cut`, { timeout: 10_000 }, async (t) => {
    const door = await openTestDoor(t, { routes: [huge, endless], limits: { writeTimeoutMs: 200 } })
    const socket = ask(door.port, path).pause()
    const closed = new Promise((resolve) => socket.on('close', resolve))
    // a client that does not read learns of a reset when it writes
    const probe = setInterval(() => socket.write('\r\n'), 50)
    t.after(() => clearInterval(probe))
    await closed
  })

test('one that takes its time is not', { timeout: 20_000 }, async (t) => {
  const door = await openTestDoor(t, { routes: [huge], limits: { writeTimeoutMs: 1000 } })
  const socket = ask(door.port, '/_open/huge')
  t.after(() => socket.destroy())
  let bytes = 0
  const start = performance.now()
  socket.on('data', (chunk) => {
    bytes += chunk.length
    if (performance.now() - start > 2000) return
    // a piece now and then, for longer than a client may take nothing; the system hands on far more at once
    socket.pause()
    setTimeout(() => socket.resume(), 5)
  })
  while (bytes < LENGTH) await once(socket, 'data')
  assert.ok(performance.now() - start > 2000)
})

test('nor is one that takes a little all the time', { timeout: 20_000 }, async (t) => {
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
  // so little that the system has no room to offer for most of the time
  assert.ok(bytes < 4 << 20, `${bytes}`)
})

test('nor is one for which nothing waits', { timeout: 10_000 }, async (t) => {
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
