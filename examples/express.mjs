// Sign-up, sign-in, sign-out and a protected route in Express. Start it with
//   ADMIN_PASSWORD=… node examples/express.mjs
import { createCardea } from 'cardea'
import { authenticate, requireUser } from 'cardea/express'
import express from 'express'

const cardea = await createCardea({
  options: { admins: { admin: process.env.ADMIN_PASSWORD } },
  env: process.env, // for example CARDEA_STORE__URL=sqlite:app.db
})
const app = express()
const route = (work) => (request, response, next) => work(request, response).catch(next)

app.use(express.json(), authenticate(cardea))
app.post(
  '/sign-up',
  route(async ({ body: { name, password } = {} }, response) => {
    response.status(201).json(await cardea.users.create({ name, password, roles: ['member'] }))
  }),
)
app.post(
  '/sign-in',
  route(async (request, response) => {
    const { name, password, code } = request.body ?? {}
    const user = await cardea.users.verifyPassword(name, password, { request, code })
    if (!user) return response.status(401).json({ error: 'wrong name or password' })
    await cardea.sessions.create(user, { request, response })
    response.json(user)
  }),
)
app.post(
  '/sign-out',
  requireUser(),
  route(async ({ user }, response) => {
    if (user.sessionId) await cardea.sessions.revoke(user.sessionId)
    response.clearCookie('AuthSession').json({ ok: true })
  }),
)
app.get('/me', requireUser(), (request, response) => response.json(request.user))
app.use((error, _request, response, _next) => {
  const { status = 500, message } = error // a CardeaError has the status of its response
  if (status >= 500) console.error(error)
  response.status(status).json({ error: status < 500 ? message : 'try again later' })
})

const server = app.listen(process.env.PORT ?? 3000, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}`)
})
process.once('SIGTERM', () => server.close(() => cardea.close()))
