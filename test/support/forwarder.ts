import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Scope } from './scope.ts'

/** An address that leads to one server, then to another. Without a server, connections are closed at once. */
export async function createForwarder(scope: Scope, port: number | undefined) {
  let target = port
  let requests = 0
  const sockets = new Set<Socket>()
  const keep = (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).once('close', () => sockets.delete(socket))
    return socket
  }
  const server = createServer((client) => {
    keep(client)
    if (target === undefined) {
      client.destroy()
      return
    }
    const upstream = keep(connect(target, '127.0.0.1'))
    client.on('data', () => {
      requests += 1
    })
    client.pipe(upstream).pipe(client)
    client.once('close', () => upstream.destroy())
    upstream.once('close', () => client.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const lead = (to: number | undefined) => {
    target = to
    for (const socket of sockets) socket.destroy()
  }
  scope.after(() => {
    lead(undefined)
    server.close()
  })
  /** How often a client has sent something. */
  const countRequests = () => requests
  return { port: (server.address() as AddressInfo).port, lead, countRequests }
}
