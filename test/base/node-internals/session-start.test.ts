import assert from 'node:assert/strict'
import { once } from 'node:events'
import { performServerHandshake } from 'node:http2'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { stopReadingAtEnd } from '../../../src/base/node-internals/session-start.ts'

it('a session that ends before it reads what waits causes no exception', async (t) => {
  const opened = Promise.withResolvers<Socket>()
  const server = createServer({ pauseOnConnect: true }, opened.resolve)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const client = connect(port, '127.0.0.1')
  const socket = await opened.promise
  t.after(() => {
    client.destroy()
    socket.destroy()
    server.close()
  })
  socket.unshift(Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'))
  const session = performServerHandshake(socket, {})
  stopReadingAtEnd(session, socket)
  session.destroy()
  // without it, Node throws in the next tick
  await nextTurn()
  assert.ok(session.destroyed)
})
