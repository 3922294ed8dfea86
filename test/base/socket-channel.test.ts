import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { openSocketChannel } from '../../src/base/node-internals/socket-channel.ts'

const RECEIVER = `
  const { parentPort, workerData } = require('node:worker_threads')
  let count = 0
  const take = (socket, text) => {
    count += 1
    socket.end(text + ' from ' + socket.remoteAddress)
  }
  import(workerData.module)
    .then(({ receiveSockets }) => receiveSockets(workerData.fd, take))
    .then(() => parentPort.postMessage(count))
`
const CONNECTIONS = 20

test('hands connections to another thread, and says that none follows', async (t) => {
  const channel = await openSocketChannel()
  const module = new URL('../../src/base/node-internals/socket-channel.ts', import.meta.url).href
  const worker = new Worker(RECEIVER, { eval: true, workerData: { fd: channel.fd, module } })
  const told = once(worker, 'message')
  let sent = 0
  const server = createServer((socket) => {
    assert.ok(channel.send(socket, 'message'))
    sent += 1
    if (sent === CONNECTIONS) channel.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    server.close()
    await worker.terminate()
    channel.close('used')
  })
  const { port } = server.address() as AddressInfo
  const received = await Promise.all(Array.from({ length: CONNECTIONS }, () => text(connect(port, '127.0.0.1'))))
  assert.deepEqual(new Set(received), new Set(['message from 127.0.0.1']))
  assert.deepEqual(await told, [CONNECTIONS])
})
