// Sign-up, sign-in, sign-out and a protected route in Hono. Start it with
//   ADMIN_PASSWORD=… node examples/hono.mjs
import { serve } from '@hono/node-server'
import { getConnInfo } from '@hono/node-server/conninfo'
import { createCardea } from 'cardea'
import { requireUser } from 'cardea/web'
import { Hono } from 'hono'

const cardea = await createCardea({
  options: { admins: { admin: process.env.ADMIN_PASSWORD }, chttpd_auth: { allow_sign_up: true } },
  env: process.env, // for example CARDEA_STORE__URL=sqlite:app.db
})
const app = new Hono()
const peerOf = (context) => getConnInfo(context).remote.address
const forUsers = requireUser(cardea)
app.all('/account/*', (context) => cardea.fetch(context.req.raw, { peer: peerOf(context), path: '/account' }))
app.get('/me', (context) => forUsers(context.req.raw, (user) => context.json(user), { peer: peerOf(context) }))

const server = serve(
  { fetch: app.fetch, port: Number(process.env.PORT ?? 3000), hostname: '127.0.0.1' },
  ({ port }) => {
    console.log(`http://127.0.0.1:${port}`)
  },
)
process.once('SIGTERM', () => server.close(() => cardea.close()))
