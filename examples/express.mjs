// Sign-up, sign-in, sign-out and a protected route in Express. Start it with
//   ADMIN_PASSWORD=… node examples/express.mjs
import { createCardea } from 'cardea'
import { account, authenticate, requireUser } from 'cardea/express'
import express from 'express'

const cardea = await createCardea({
  options: { admins: { admin: process.env.ADMIN_PASSWORD }, chttpd_auth: { allow_sign_up: true } },
  env: process.env, // for example CARDEA_STORE__URL=sqlite:app.db
})
const app = express()
app.use('/account', account(cardea))
app.use(authenticate(cardea))
app.get('/me', requireUser(), (request, response) => response.json(request.user))

const server = app.listen(process.env.PORT ?? 3000, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}`)
})
process.once('SIGTERM', () => server.close(() => cardea.close()))
