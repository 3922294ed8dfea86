import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, get } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { after, it } from 'node:test'
import { divert, hasParser } from '../../../src/base/node-internals/parser-input.ts'

const read: Buffer[] = []
const server = createServer((_request, response) => void response.end('ok'))
server.on('connection', (socket) => {
  const parse = divert(socket, (bytes) => {
    read.push(bytes)
    parse(Buffer.from(bytes))
  })
})
await once(server.listen(0, '127.0.0.1'), 'listening')
after(() => void server.close())

async function ask(): Promise<number | undefined> {
  const { port } = server.address() as AddressInfo
  const [response] = await once(get({ port, agent: false }), 'response')
  response.resume()
  return response.statusCode
}

it('the bytes of every connection are read into one buffer, and the parser gets them', async () => {
  assert.deepEqual([await ask(), await ask()], [200, 200])
  const [first, second] = read
  assert.ok(first && second)
  assert.match(first.toString('latin1'), /^GET \/ HTTP\/1\.1\r\n/)
  assert.equal(first.buffer, second.buffer)
})

it('a connection has a parser until it is closed', async () => {
  const connected = once(server, 'connection')
  const asked = ask()
  const [socket] = (await connected) as [Socket]
  assert.equal(hasParser(socket), true)
  await asked
  if (!socket.destroyed) await once(socket, 'close')
  assert.equal(hasParser(socket), false)
})

it('a connection without a parser is refused', () => {
  assert.throws(() => divert({ listeners: () => [] } as unknown as Socket, () => {}), TypeError)
})
