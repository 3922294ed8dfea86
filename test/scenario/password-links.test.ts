// One-time links with which users set a password.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { AS_ADMIN, type Reply, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

const API = '/_cardea/api'
const server = await startServer(createSharedScope(), {
  console: { 'public-url': 'https://db.example.com/' },
  auth: { 'min-password-length': 4 },
})
const url = server.document

const ask = (as: string | undefined, method: string, path: string, body?: unknown) =>
  send(url, { method, path: `${API}${path}`, ...(as && { as }), ...(body !== undefined && { body }) })

const errorOf = ({ status, body }: Reply) => [status, JSON.parse(body).error]

async function addUser(name: string, more: object = {}): Promise<void> {
  assert.equal((await ask(AS_ADMIN, 'POST', '/users', { name, password: 'first', ...more })).status, 200)
}

async function createLink(name: string): Promise<string> {
  const { status, json, body } = await ask(AS_ADMIN, 'POST', `/users/${name}/password-link`)
  assert.equal(status, 200, body)
  assert.ok(Math.abs(json.expiresAt - Date.now() / 1000 - 3600) < 60)
  return (
    /^https:\/\/db\.example\.com\/_cardea\/#\/password-link\/([\w-]{43})$/.exec(json.url)?.[1] ?? assert.fail(json.url)
  )
}

const find = (token: string) => ask(undefined, 'POST', '/password-links/find', { token })
const use = (token: string, password = 'second') => ask(undefined, 'POST', '/password-links/use', { token, password })

async function assertInvalid(token: string): Promise<void> {
  const unknown = await find('A'.repeat(43))
  for (const reply of [await find(token), await use(token, 'other')])
    assert.deepEqual([reply.status, reply.body], [404, unknown.body])
}

describe('a link to set a password', () => {
  it('sets it once, ends the sessions and opens no session', async () => {
    await addUser('una', { mustChangePassword: true })
    const token = await createLink('una')
    assert.deepEqual((await find(token)).json, { name: 'una', passwordRules: ['Use at least 4 characters.'] })
    server.takeEvents()
    const used = await use(token)
    assert.deepEqual(used.json, { name: 'una' })
    assert.equal(used.headers['set-cookie'], undefined)
    assert.ok(server.takeEvents().some(({ event, subject }) => event === 'password-link.used' && subject === 'una'))
    assert.equal((await ask('una:second', 'GET', '/account')).json.mustChangePassword, false)
    await assertInvalid(token)
    assert.ok(!JSON.stringify(server.log).includes(token))
  })

  it('stays valid after a password that breaks a rule', async () => {
    await addUser('ugo')
    const token = await createLink('ugo')
    assert.deepEqual(errorOf(await use(token, 'abc')), [400, 'password_refused'])
    assert.equal((await use(token)).status, 200)
  })

  it('is used by one of several clients at the same time', async () => {
    await addUser('uli')
    const token = await createLink('uli')
    const replies = await Promise.all(Array.from({ length: 5 }, (_, index) => use(token, `parallel ${index}`)))
    assert.deepEqual(replies.map(({ status }) => status).sort(), [200, 404, 404, 404, 404])
  })

  for (const [change, [method, path, body]] of Object.entries<readonly [string, string, unknown]>({
    'a new password': ['PUT', '/password', { password: 'changed' }],
    'other roles': ['PUT', '/roles', { add: ['writer'] }],
    'other grants': ['PUT', '/grants', { database: 'sales', level: 'rw' }],
    'a deactivation': ['PUT', '/active', { active: false }],
    'an expiry': ['PUT', '/expiry', { expires: '2001-01-01' }],
    'a deletion': ['DELETE', '', undefined],
    'the next link': ['POST', '/password-link', undefined],
  }))
    it(`ends with ${change} of the user`, async () => {
      const name = `end-${change.replaceAll(' ', '-')}`
      await addUser(name)
      const token = await createLink(name)
      assert.equal((await ask(AS_ADMIN, method, `/users/${name}${path}`, body)).status, 200)
      await assertInvalid(token)
    })

  for (const [change, path, bodies] of [
    ['disabled and enabled', 'active', [{ active: false }, { active: true }]],
    ['expired and not', 'expiry', [{ expires: '2001-01-01' }, { expires: '2040-01-01' }]],
    ['given a role that is taken again', 'roles', [{ add: ['writer'] }, { remove: ['writer'] }]],
    [
      'given a grant that is taken again',
      'grants',
      [
        { database: 'sales', level: 'rw' },
        { database: 'sales', level: null },
      ],
    ],
  ] as const)
    it(`ends although the user is as before: ${change}`, async () => {
      const name = `again-${path}`
      await addUser(name, { expires: '2040-01-01' })
      const token = await createLink(name)
      for (const body of bodies) assert.equal((await ask(AS_ADMIN, 'PUT', `/users/${name}/${path}`, body)).status, 200)
      await assertInvalid(token)
    })

  it('ends with a later expiry: its creator may have to expire before', async () => {
    await addUser('late', { expires: '2040-01-01' })
    const token = await createLink('late')
    assert.equal((await ask(AS_ADMIN, 'PUT', '/users/late/expiry', { expires: '2041-01-01' })).status, 200)
    await assertInvalid(token)
  })

  it('does not set the password of a user who has become an administrator', async () => {
    await addUser('ute')
    const token = await createLink('ute')
    assert.equal((await ask(AS_ADMIN, 'PUT', '/administrators/ute', { password: 'adminpw' })).status, 200)
    await assertInvalid(token)
  })

  it('works for a user without a password', async () => {
    assert.equal((await ask(AS_ADMIN, 'POST', '/users', { name: 'none' })).status, 200)
    assert.equal((await use(await createLink('none'))).status, 200)
    assert.equal((await ask('none:second', 'GET', '/account')).status, 200)
  })

  it('of an unknown user is not created', async () => {
    assert.deepEqual(errorOf(await ask(AS_ADMIN, 'POST', '/users/unknown/password-link')), [404, 'not_found'])
  })

  it('needs the header of programs from a page of another origin', async () => {
    const reply = await send(url, {
      method: 'POST',
      path: `${API}/password-links/use`,
      headers: { Origin: 'https://evil.example' },
      body: { token: 'x', password: 'y' },
    })
    assert.deepEqual(errorOf(reply), [403, 'forbidden'])
  })
})

it('without console.public-url a link is a path: no header of the request decides its host', async () => {
  const other = await startServer(createSharedScope())
  const headers = { Host: 'evil.example', 'X-Forwarded-Host': 'evil.example', Forwarded: 'host=evil.example' }
  const call = (path: string, body?: unknown) =>
    send(other.document, { method: 'POST', path: `${API}${path}`, as: AS_ADMIN, body, headers })
  await call('/users', { name: 'ada', password: 'x' })
  assert.match((await call('/users/ada/password-link')).json.url, /^\/_cardea\/#\/password-link\/[\w-]{43}$/)
})
