import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { openSocketChannel } from '../../src/base/node-internals/socket-channel.ts'

const RECEIVER = `
  const { workerData } = require('node:worker_threads')
  import(workerData.module).then(({ receiveSockets }) =>
    receiveSockets(workerData.fd, (socket, text) => socket.end(text + ' from ' + socket.remoteAddress)))
`

test('hands connections to another thread', async (t) => {
  const channel = await openSocketChannel()
  const module = new URL('../../src/base/node-internals/socket-channel.ts', import.meta.url).href
  const worker = new Worker(RECEIVER, { eval: true, workerData: { fd: channel.fd, module } })
  const server = createServer((socket) => assert.ok(channel.send(socket, 'message')))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    server.close()
    await worker.terminate()
    channel.close('used')
  })
  const { port } = server.address() as AddressInfo
  const received = await Promise.all(Array.from({ length: 20 }, () => text(connect(port, '127.0.0.1'))))
  assert.deepEqual(new Set(received), new Set(['message from 127.0.0.1']))
})
