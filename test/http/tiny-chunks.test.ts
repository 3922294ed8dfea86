import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { after, it } from 'node:test'
import { limitTinyChunks } from '../../src/http/body.ts'

const HEAD = 'POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n'

let onRequest: (request: IncomingMessage) => void = () => {}
const server = createServer((request) => onRequest(request.on('error', () => {})))
await once(server.listen(0, '127.0.0.1'), 'listening')
after(() => {
  server.close()
  server.closeAllConnections()
})

function openClient(bytes: string) {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {})
  socket.write(bytes)
  return socket
}

const nextRequest = () => new Promise<IncomingMessage>((resolve) => (onRequest = resolve))

it('Node delivers no chunk after the rejection', async () => {
  let delivered = 0
  const rejected = new Promise<IncomingMessage>((resolve) => {
    onRequest = (request) => {
      const reject = () => {
        request.push = () => {
          delivered += 1
          return false
        }
        resolve(request)
      }
      limitTinyChunks(request, () => false, reject)
    }
  })
  const client = openClient(HEAD + '1\r\n[\r\n'.repeat(8000))
  const { socket } = await rejected
  // the rest of what Node has read at once is parsed before the next turn of the event loop
  await new Promise(setImmediate)
  assert.equal(delivered, 0)
  client.destroy()
  if (!socket.destroyed) socket.destroy()
  await once(socket, 'close')
})

it('a connection that gets the parser of a rejected one receives its body', async () => {
  for (let turn = 0; turn < 3; turn += 1) {
    const arrived = nextRequest()
    const client = openClient(`${HEAD}2\r\nok\r\n0\r\n\r\n`)
    const request = await arrived
    request.setTimeout(2000, () => request.destroy())
    assert.equal(await text(request), 'ok')
    client.destroy()
  }
})
