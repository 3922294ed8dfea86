// Sign-up, sign-in, sign-out and a protected route in Fastify. Start it with
//   ADMIN_PASSWORD=… node examples/fastify.mjs
import { createCardea } from 'cardea'
import { registerAccount, registerCardea, requireUser } from 'cardea/fastify'
import Fastify from 'fastify'

const cardea = await createCardea({
  options: { admins: { admin: process.env.ADMIN_PASSWORD }, chttpd_auth: { allow_sign_up: true } },
  env: process.env, // for example CARDEA_STORE__URL=sqlite:app.db
})
const fastify = Fastify()
await fastify.register(registerAccount, { prefix: '/account', cardea })
await fastify.register(registerCardea, cardea)
fastify.get('/me', { preHandler: requireUser() }, async ({ user }) => user)

console.log(await fastify.listen({ host: '127.0.0.1', port: Number(process.env.PORT ?? 3000) }))
process.once('SIGTERM', () => fastify.close().then(() => cardea.close()))
