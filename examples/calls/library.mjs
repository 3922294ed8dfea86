// Every call of `cardea`, `cardea/express`, `cardea/fastify` and `cardea/web` once. docs/reference/library.md shows the
// lines below each `// #`.
import { createServer } from 'node:http'
import { createCardea, createTestCardea } from 'cardea'
import { account, authenticate, requireRole, requireUser } from 'cardea/express'
import * as forFastify from 'cardea/fastify'
import * as forWeb from 'cardea/web'
import express from 'express'
import Fastify from 'fastify'
import { showCode } from './one-time-code.mjs'

const headers = { 'user-agent': 'browser/1' }
const request = { headers, socket: { remoteAddress: '127.0.0.1' } }
const response = new Headers()
const open = async (server) => {
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${server.address().port}`
}

// # createCardea
const options = {
  store: { url: 'sqlite::memory:' },
  admins: { admin: 'an engine of numbers' },
  chttpd: { port: 0 },
  server: { endpoint: 'tcp://127.0.0.1:0' },
  mail: { url: 'smtp://localhost:2525', from: 'no-reply@example.com' },
  console: { 'public-url': 'https://db.example.com' },
}
const cardea = await createCardea({ options, log: console })

// # createTestCardea
const test = await createTestCardea()
await test.close()

// # cardea.events.on
const created = []
const stop = cardea.events.on('user.created', ({ fields }) => created.push(fields.subject))

// # cardea.users.create
const ada = await cardea.users.create({ name: 'ada', password: 'analytical engine', roles: ['member'] })
ada.roles
// → ['member']

// #
stop()
created
// → ['ada']

// # cardea.users.find
await cardea.users.find('ada')
// → { id: '4d82f60b-dd0a-8498-a22b-6ac5593e37a6', name: 'ada', isActive: true, roles: ['member'], grants: {}, members: {} }
await cardea.users.find('grace')
// → undefined

// # cardea.users.list
const { users, next } = await cardea.users.list({ limit: 100 })
users.map(({ name }) => name).concat(next ?? [])
// → ['ada']

// # cardea.users.update
await cardea.users.update('ada', { roles: ['member', 'editor'], grants: { shop: 'rw' }, members: { city: 'London' } })

// # cardea.users.setPassword
await cardea.users.setPassword('ada', 'difference engine')

// # cardea.users.verifyPassword
const user = await cardea.users.verifyPassword('ada', 'difference engine', { request })
user.isAdmin
// → false

// # cardea.users.checkPassword
await cardea.users.checkPassword('ada', 'wrong', { request })
// → { status: 'wrong_password' }

// # cardea.sessions.create
const session = await cardea.sessions.create(user, { request, response })
session.cookie.startsWith('AuthSession=')
// → true

// # cardea.sessions.list
const { sessions } = await cardea.sessions.list('ada')
sessions.map(({ door, peer, userAgent }) => [door, peer, userAgent])
// → [['document', '127.0.0.1', 'browser/1']]

// #
const cookie = session.cookie.split(';')[0]
// # cardea.authenticate
const incoming = new Request('http://localhost/reports', { headers: { cookie } })
const visitor = await cardea.authenticate(incoming, { response: new Headers() })
visitor.name
// → 'ada'
visitor.by
// → 'cookie'

// # cardea.sessions.revokeOthers
await cardea.sessions.revokeOthers(visitor)
// → 0

// # cardea.sessions.revoke
await cardea.sessions.revoke(session.id)
// → true

// # cardea.sessions.clearCookie
await cardea.sessions.clearCookie(response, { request })

// # cardea.sessions.revokeAll
await cardea.sessions.revokeAll('ada')
// → 0

// # cardea.users.changePassword
const change = { currentPassword: 'difference engine', password: 'analytical engine', request }
const changed = await cardea.users.changePassword('ada', change)
changed.status
// → 'changed'

// # cardea.accessTokens.create
const expiresAt = new Date('2100-01-01')
const { token } = await cardea.accessTokens.create('ada', { name: 'backup', expiresAt, databases: ['shop'] })
token.slice(0, 3)
// → 'v1.'

// # cardea.accessTokens.list
const tokens = await cardea.accessTokens.list('ada')
tokens.map(({ name, isActive }) => [name, isActive])
// → [['backup', true]]

// # cardea.accessTokens.remove
await cardea.accessTokens.remove('ada', 'backup')

// # cardea.secondFactor.create
const { secret, uri } = await cardea.secondFactor.create('ada')
uri.startsWith('otpauth://totp/')
// → true

// #
const code = showCode(secret)
// # cardea.secondFactor.confirm
const recoveryCodes = await cardea.secondFactor.confirm('ada', { secret, code })
recoveryCodes.length
// → 10

// # cardea.secondFactor.replaceRecoveryCodes
const replaced = await cardea.secondFactor.replaceRecoveryCodes('ada')
replaced.length
// → 10

// # cardea.secondFactor.remove
await cardea.secondFactor.remove('ada')

// # cardea.passwordLinks.create
const link = await cardea.passwordLinks.create('ada')

// # cardea.passwordLinks.use
await cardea.passwordLinks.use(link.token, 'difference engine', { request })
// → 'ada'

// # cardea.mail.setAddress
await cardea.mail.setAddress('ada', 'ada@example.com')

// # cardea.mail.requestAddress
await cardea.mail.requestAddress('ada', 'ada@example.org')

// # cardea.mail.confirmAddress
await cardea.mail.confirmAddress('not-a-token', { request }).catch(({ code }) => code)
// → 'not_found'

// # cardea.mail.requestPasswordReset
await cardea.mail.requestPasswordReset('ada@example.com')

// # cardea.mail.confirmPasswordReset
await cardea.mail.confirmPasswordReset('not-a-token', 'difference engine').catch(({ code }) => code)
// → 'not_found'

// # cardea.mail.invite
await cardea.mail.invite({ address: 'bob@example.com', roles: ['member'], grants: { shop: 'ro' } })

// # cardea.fetch
const signIn = new Request('http://localhost/account/sign-in', {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ name: 'ada', password: 'difference engine' }),
})
const signedIn = await cardea.fetch(signIn, { peer: '127.0.0.1', path: '/account' })
signedIn.status
// → 200

// # cardea.handle
const door = createServer((request, response) => cardea.handle(request, response, 'document'))

// #
const welcome = await fetch(await open(door))
welcome.status
// → 200
door.close()

// # cardea.handleAccount
const routes = createServer((request, response) => cardea.handleAccount(request, response))

// #
const shown = await fetch(`${await open(routes)}/session`)
await shown.json()
// → { name: null }
routes.close()

// #
const app = express()
// # express: account
app.use('/account', account(cardea))

// # express: authenticate
app.use(authenticate(cardea))

// # express: requireUser
app.get('/me', requireUser(), (request, response) => response.json(request.user))

// # express: requireRole
app.get('/reports', requireRole('editor'), (_, response) => response.send('The reports.'))

// #
const site = createServer(app)
const siteUrl = await open(site)
const sent = { headers: { authorization: `Basic ${btoa('ada:difference engine')}` } }
const asked = await Promise.all([
  fetch(`${siteUrl}/me`),
  fetch(`${siteUrl}/me`, sent),
  fetch(`${siteUrl}/reports`, sent),
])
asked.map(({ status }) => status)
// → [401, 200, 200]
site.close()
const fastify = Fastify()
const { registerAccount, registerCardea } = forFastify
// # fastify: registerAccount
await fastify.register(registerAccount, { prefix: '/account', cardea })

// # fastify: registerCardea
await fastify.register(registerCardea, cardea)

// # fastify: requireUser
fastify.get('/me', { preHandler: forFastify.requireUser() }, async ({ user }) => user)

// # fastify: requireRole
fastify.get('/reports', { preHandler: forFastify.requireRole('editor') }, async () => 'The reports.')

// #
const answers = await Promise.all([fastify.inject('/me'), fastify.inject({ url: '/me', ...sent })])
answers.map(({ statusCode }) => statusCode)
// → [401, 200]
await fastify.close()

// # web: requireUser
const forUsers = forWeb.requireUser(cardea)
const showMe = (request, peer) => forUsers(request, (user) => Response.json(user.name), { peer })

// # web: requireRole
const forEditors = forWeb.requireRole(cardea, 'editor')
const showReports = (request, peer) => forEditors(request, () => new Response('The reports.'), { peer })

// #
const [me, reports] = await Promise.all([
  showMe(new Request(siteUrl, sent), '192.0.2.7'),
  showReports(new Request(siteUrl), '192.0.2.7'),
])
await me.json()
// → 'ada'
reports.status
// → 401

// # cardea.users.disable
await cardea.users.disable('ada')

// # cardea.users.remove
await cardea.users.remove('ada')

// # cardea.listen
const { document, multiModel } = await cardea.listen()
document.concat(multiModel).length
// → 2

// # cardea.reload
const report = await cardea.reload()
report.isApplied
// → true

// # cardea.close
await cardea.close()
