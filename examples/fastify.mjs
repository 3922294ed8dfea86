// Sign-up, sign-in, sign-out and a protected route in Fastify. Start it with
//   ADMIN_PASSWORD=… node examples/fastify.mjs
import { createCardea } from 'cardea'
import { registerCardea, requireUser } from 'cardea/fastify'
import Fastify from 'fastify'

const cardea = await createCardea({
  options: { admins: { admin: process.env.ADMIN_PASSWORD } },
  env: process.env, // for example CARDEA_STORE__URL=sqlite:app.db
})
const fastify = Fastify()

await fastify.register(registerCardea, cardea)
fastify.post('/sign-up', async ({ body }, reply) => {
  const { name, password } = body ?? {}
  return reply.code(201).send(await cardea.users.create({ name, password, roles: ['member'] }))
})
fastify.post('/sign-in', async ({ body, raw: request }, reply) => {
  const { name, password, code } = body ?? {}
  const user = await cardea.users.verifyPassword(name, password, { request, code })
  if (!user) return reply.code(401).send({ error: 'wrong name or password' })
  const { cookie } = await cardea.sessions.create(user, { request })
  return reply.header('Set-Cookie', cookie).send(user)
})
fastify.post('/sign-out', { preHandler: requireUser() }, async ({ user }, reply) => {
  if (user.sessionId) await cardea.sessions.revoke(user.sessionId)
  return reply.header('Set-Cookie', 'AuthSession=; Max-Age=0; Path=/; HttpOnly').send({ ok: true })
})
fastify.get('/me', { preHandler: requireUser() }, async ({ user }) => user)
fastify.setErrorHandler((error, _request, reply) => {
  const { statusCode = 500, message } = error // a CardeaError has the status of its response
  if (statusCode >= 500) console.error(error)
  return reply.code(statusCode).send({ error: statusCode < 500 ? message : 'try again later' })
})

console.log(await fastify.listen({ host: '127.0.0.1', port: Number(process.env.PORT ?? 3000) }))
process.once('SIGTERM', () => fastify.close().then(() => cardea.close()))
