import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
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
    const door = await openTestDoor(t, { routes: [huge, endless], limits: { 'write-timeout': 200 } })
    const socket = ask(door.port, path).pause()
    const closed = new Promise((resolve) => socket.on('close', resolve))
    // A client that does not read notices a reset when it writes.
    const probe = setInterval(() => socket.write('\r\n'), 50)
    t.after(() => clearInterval(probe))
    await closed
  })

/** The time of the door, which goes on only as the test says: a pause of a busy machine is none of the client. */
function stopClock(t: TestContext): { advance(ms: number): void } {
  let nowMs = performance.now()
  t.mock.method(performance, 'now', () => nowMs)
  return {
    advance(ms) {
      nowMs += ms
    },
  }
}

/** Reads one chunk after the other, with pauses, until `isOver`. */
async function readWithPauses(socket: Socket, pauseMs: number, isOver: (chunk: Buffer) => boolean): Promise<void> {
  for await (const chunk of socket) {
    if (isOver(chunk)) return
    await pause(pauseMs)
  }
  assert.fail('the connection was closed')
}

test('keeps the connection of a client that reads with pauses', async (t) => {
  const door = await openTestDoor(t, { routes: [huge], limits: { 'write-timeout': 1000 } })
  const socket = ask(door.port, '/_open/huge')
  const clock = stopClock(t)
  let bytes = 0
  // for longer in total than the timeout
  await readWithPauses(socket, 1, (chunk) => {
    clock.advance(5)
    bytes += chunk.length
    return bytes > LENGTH
  })
})

test('keeps the connection of a client that reads very slowly', async (t) => {
  const door = await openTestDoor(t, { routes: [huge], limits: { 'write-timeout': 1000 } })
  const socket = ask(door.port, '/_open/huge')
  const clock = stopClock(t)
  let [chunks, bytes] = [0, 0]
  await readWithPauses(socket, 150, (chunk) => {
    clock.advance(150)
    bytes += chunk.length
    chunks += 1
    return chunks === 24
  })
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
  const door = await openTestDoor(t, { routes: [slow], limits: { 'write-timeout': 100 } })
  const [text] = await once(ask(door.port, '/_open/slow'), 'data')
  assert.match(String(text), /late$/)
})
