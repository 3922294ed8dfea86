import assert from 'node:assert/strict'
import { once } from 'node:events'
import { performServerHandshake } from 'node:http2'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { hasEnded, readInPieces } from '../../../src/base/node-internals/session-start.ts'
import { PREFACE, request, START } from '../../support/frames.ts'
import type { Scope } from '../../support/scope.ts'
import { waitUntil } from '../../support/wait.ts'

/** A connection that the server does not read. */
async function open(scope: Scope): Promise<{ client: Socket; socket: Socket }> {
  const opened = Promise.withResolvers<Socket>()
  const server = createServer({ pauseOnConnect: true }, opened.resolve)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const client = connect(port, '127.0.0.1')
  const socket = await opened.promise
  scope.after(() => {
    client.destroy()
    socket.destroy()
    server.close()
  })
  return { client, socket }
}

it('a session that ends before it reads what waits causes no exception', async (t) => {
  const { socket } = await open(t)
  socket.unshift(PREFACE)
  const session = performServerHandshake(socket, {})
  readInPieces(session, socket, setImmediate)
  session.destroy()
  // without it, Node throws in the next tick
  await nextTurn()
  assert.ok(session.destroyed)
})

const REQUESTS = 300
const requests = (from: number) =>
  Buffer.concat(Array.from({ length: REQUESTS }, (_, i) => request('/', [], 2 * (from + i) + 1)))

it('a session gets what waits in pieces, in turns, and then what arrives', async (t) => {
  const { client, socket } = await open(t)
  // two chunks: Node may read one at a time
  socket.pause().read(0)
  client.write(requests(0))
  await waitUntil(() => socket.readableLength === requests(0).length)
  socket.unshift(START)
  const session = performServerHandshake(socket, { settings: { maxConcurrentStreams: 2 * REQUESTS } })
  const seen: (number | undefined)[] = []
  session.on('stream', ({ id }) => seen.push(id))
  const turns: (() => void)[] = []
  const unread = readInPieces(session, socket, (next) => turns.push(next))
  await waitUntil(() => turns.length > 0)
  assert.ok(unread() > 0 && seen.length < REQUESTS)
  client.write(requests(REQUESTS))
  for (let next = turns.shift(); next; next = turns.shift()) next()
  await waitUntil(() => seen.length === 2 * REQUESTS)
  assert.deepEqual(
    seen,
    Array.from({ length: 2 * REQUESTS }, (_, i) => 2 * i + 1),
  )
  assert.equal(unread(), 0)
})

it('a connection that is not read shows that its client has ended it', async (t) => {
  const { client, socket } = await open(t)
  socket.pause().read(0)
  client.write('a')
  await waitUntil(() => socket.readableLength === 1)
  assert.ok(!hasEnded(socket))
  client.end()
  await waitUntil(() => hasEnded(socket))
})
