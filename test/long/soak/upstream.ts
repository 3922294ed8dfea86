// The database behind both doors: returns the identity it was sent. It can be stopped and started on the same port.
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The name in a token. Cardea has signed it, so it is not verified here. */
function readName({ authorization = '' }) {
  const [, claims] = /^bearer [^.]+\.([^.]+)\./i.exec(authorization) ?? []
  const { sub, preferred_username: name } = claims ? JSON.parse(Buffer.from(claims, 'base64url').toString()) : {}
  return sub ?? name ?? null
}

export async function startUpstream() {
  let server: Server
  let port = 0
  const start = async () => {
    server = createServer((request, response) => {
      const name = readName(request.headers)
      // as the databases do: Cardea checks at the start that its identity is used, and that anonymous requests are not
      response.statusCode = name === null && request.url?.includes('/_api/') ? 401 : 200
      request.resume().on('end', () => response.end(JSON.stringify({ name, userCtx: { name, roles: [] } })))
    })
    await once(server.listen(port, '127.0.0.1'), 'listening')
    port = (server.address() as AddressInfo).port
  }
  await start()
  return {
    url: `http://127.0.0.1:${port}`,
    start,
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}
