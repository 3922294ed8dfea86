// Sign-up, sign-in, sign-out and a protected route in a function from Request to Response, as Bun, Deno, Next.js and
// others call it. Here `node:http` calls it. Start it with
//   ADMIN_PASSWORD=… node examples/fetch.mjs
import { createServer } from 'node:http'
import { Readable } from 'node:stream'
import { createCardea } from 'cardea'

const cardea = await createCardea({
  options: { admins: { admin: process.env.ADMIN_PASSWORD }, chttpd_auth: { allow_sign_up: true } },
  env: process.env, // for example CARDEA_STORE__URL=sqlite:app.db
})

async function handle(request, peer) {
  const { pathname } = new URL(request.url)
  if (pathname.startsWith('/account')) return cardea.fetch(request, { peer, path: '/account' })
  const headers = new Headers()
  const user = await cardea.authenticate(request, { peer, response: headers })
  return Response.json(user ?? { error: 'unauthorized' }, { status: user ? 200 : 401, headers })
}

const server = createServer(async (request, response) => {
  const { method, headers, socket, url } = request
  const body = method === 'GET' || method === 'HEAD' ? null : Readable.toWeb(request)
  const sent = new Request(`http://${headers.host}${url}`, { method, headers, body, duplex: 'half' })
  const answer = await handle(sent, socket.remoteAddress)
  response.writeHead(answer.status, [...answer.headers].flat())
  response.end(await answer.bytes())
}).listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}`)
})
process.once('SIGTERM', () => server.close(() => cardea.close()))
