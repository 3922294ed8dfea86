// A client of HTTP/1 may write any version into its request line. It gains nothing by writing that of HTTP/2.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'node:test'
import { sendRaw } from '../support/raw.ts'
import type { Scope } from '../support/scope.ts'
import { openTestDoor } from './bare-door.ts'

const VERSIONS = ['HTTP/1.1', 'HTTP/2.0']

/** Without `Connection: keep-alive`, Node ends the connection after every version but 1.1. */
const UNREAD = 'Host: localhost\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n'

/** The server waits long for bodies, so that only the rule for refused ones ends the connection. */
const openPatient = (scope: Scope, usesHttp2 = false) => openTestDoor(scope, { limits: { usesHttp2 } })

const CHUNK = Buffer.from(`10000\r\n${'a'.repeat(0x10000)}\r\n`)

/** Sends chunks as fast as the server takes them, until it ends the connection. Returns how many bytes it took. */
async function flood(socket: Socket, maxBytes: number): Promise<number> {
  socket.on('error', () => {}).resume()
  while (!socket.destroyed && socket.bytesWritten - socket.writableLength < maxBytes) {
    if (socket.write(CHUNK)) continue
    await Promise.race([once(socket, 'drain'), once(socket, 'close')]).catch(() => {})
  }
  return socket.bytesWritten - socket.writableLength
}

for (const version of VERSIONS)
  test(`a refused body of ${version} is read in part only`, async (t) => {
    const door = await openPatient(t)
    const socket = connect(door.port, '127.0.0.1')
    t.after(() => socket.destroy())
    socket.write(`POST /nowhere ${version}\r\n${UNREAD}`)
    const limit = 256 << 20
    // the buffers of the system take some more than the server reads
    assert.ok((await flood(socket, limit)) < limit)
  })

for (const version of VERSIONS)
  for (const usesHttp2 of [false, true])
    test(`a refused body of ${version} that stops ends soon${usesHttp2 ? ', with HTTP/2 on' : ''}`, async (t) => {
      const door = await openPatient(t, usesHttp2)
      const head = `POST /nowhere ${version}\r\n${UNREAD}1\r\na\r\n`
      const reply = await sendRaw(door.port, head, { untilClosed: true, waitMs: 20_000 })
      assert.ok(reply.isClosed)
      assert.equal(reply.status, version === 'HTTP/1.1' ? 404 : 400)
    })
