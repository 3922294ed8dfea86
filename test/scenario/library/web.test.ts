// Guards for anything with a web Request.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Cardea } from '../../../src/index.ts'
import { requireRole, requireUser } from '../../../src/web.ts'
import { basic } from '../../support/request.ts'
import { createSharedScope } from '../../support/scope.ts'
import { makeCookie, openCardea } from './server.ts'

const { cardea, document } = await openCardea(createSharedScope(), { chttpd: { trusted_proxies: '127.0.0.1' } })
const OPTIONS = { peer: '192.0.2.7' }

const request = (headers: Record<string, string> = {}, init: RequestInit = {}) =>
  new Request('http://app.example/', { ...init, headers })
const as = (user: string) => request({ authorization: `Basic ${btoa(user)}` })
const byName = ({ name }: { name: string | null }) => Response.json(name)

/** A guard refuses without calling the function. */
const unreached = () => assert.fail('was called')

describe('requireUser', () => {
  const forUsers = requireUser(cardea)

  it('gives the user to the function', async () => {
    const response = await forUsers(as('ada:pw'), byName, OPTIONS)
    assert.deepEqual([response.status, await response.json()], [200, 'ada'])
  })

  it('refuses anonymous requests and wrong credentials, with a challenge unless it is off', async () => {
    for (const sent of [request(), as('ada:wrong')]) {
      const { status, headers } = await forUsers(sent, unreached, OPTIONS)
      assert.deepEqual([status, headers.get('www-authenticate')], [401, 'Basic realm="Cardea", charset="UTF-8"'])
    }
    const quiet = await requireUser(cardea, { challenge: false })(request(), unreached)
    assert.deepEqual([quiet.status, quiet.headers.get('www-authenticate')], [401, null])
    assert.deepEqual(await quiet.json(), { error: 'unauthorized' })
  })

  it('renews the session cookie in the response, also in one whose headers cannot be changed', async () => {
    const cookie = { cookie: await makeCookie(document, 70) }
    const responses: readonly (() => Response)[] = [
      () => Response.json('done', { headers: { 'set-cookie': 'own=1' } }),
      () => Response.redirect('http://app.example/next'),
      () => new Response(null, { status: 204 }),
    ]
    for (const respond of responses) {
      const response = await forUsers(request(cookie), respond)
      assert.equal(response.status, respond().status)
      assert.match(response.headers.getSetCookie().at(-1) ?? '', /^AuthSession=/)
    }
    const fresh = await forUsers(request({ cookie: await makeCookie(document, 10) }), byName)
    assert.deepEqual(fresh.headers.getSetCookie(), [])
  })

  it('refuses a form of another origin', async () => {
    const headers = {
      cookie: await makeCookie(document, 10),
      origin: 'https://evil.example',
      'content-type': 'text/plain',
    }
    const response = await forUsers(request(headers, { method: 'POST', body: 'x' }), unreached)
    assert.equal(response.status, 403)
    assert.match(await response.text(), /^\{"error":"cross_origin","reason":"/)
    const allowed = request(headers, { method: 'POST', body: 'x' })
    assert.equal((await forUsers(allowed, byName, { origins: ['https://evil.example'] })).status, 200)
  })

  it('leaves errors of the function to the framework', async () => {
    await assert.rejects(
      forUsers(as('ada:pw'), () => Promise.reject(new Error('of the program')), OPTIONS),
      { message: 'of the program' },
    )
    const unknown = () => cardea.users.update('nobody', { roles: [] }).then(byName)
    await assert.rejects(forUsers(as('ada:pw'), unknown, OPTIONS), { name: 'CardeaError', code: 'not_found' })
  })

  it('counts wrong passwords for the client that a trusted proxy names', async (t) => {
    const { cardea: limited } = await openCardea(t, {
      chttpd: { trusted_proxies: '127.0.0.1' },
      chttpd_auth_lockout: { threshold: 2 },
    })
    const guess = (client: string, password: string) =>
      requireUser(limited)(request({ authorization: basic('ada', password), 'x-forwarded-for': client }), byName, {
        peer: '127.0.0.1',
      })
    for (const _attempt of [1, 2]) assert.equal((await guess('198.51.100.1', 'wrong')).status, 401)
    assert.notEqual((await guess('198.51.100.1', 'pw')).status, 200)
    assert.equal((await guess('198.51.100.2', 'pw')).status, 200)
  })
})

describe('requireRole', () => {
  it('accepts users with one of the roles, and administrators', async () => {
    const rows: readonly [user: string, roles: readonly [string, ...string[]], status: number][] = [
      ['ada:pw', ['reader'], 200],
      ['ada:pw', ['writer', 'reader'], 200],
      ['ada:pw', ['writer'], 403],
      ['admin:adminpw', ['writer'], 200],
      ['ada:wrong', ['reader'], 401],
    ]
    for (const [user, roles, status] of rows)
      assert.equal((await requireRole(cardea, ...roles)(as(user), byName, OPTIONS)).status, status, user)
    assert.equal((await requireRole(cardea, 'reader')(request(), unreached)).status, 401)
  })
})

describe('a mistake of the program', () => {
  const forUsers = requireUser(cardea) as (...given: unknown[]) => Promise<Response>
  const rows: Readonly<Record<string, [() => unknown, RegExp]>> = {
    'no Cardea': [() => requireUser({} as Cardea), /^requireUser takes a Cardea/],
    'no Cardea for a role': [() => requireRole('reader' as never), /^requireRole takes a Cardea first/],
    'a Cardea without await': [() => requireUser(Promise.resolve(cardea) as never), /is a promise: write await/],
    'no role': [() => requireRole(cardea), /^requireRole takes names of roles/],
    'an unknown option': [() => requireUser(cardea, { chalenge: false } as never), /^requireUser must be called/],
    'a request of Node': [() => forUsers({ headers: {} }, byName), /^a guard takes a Request and a function/],
    'no function': [() => forUsers(as('ada:pw'), { peer: '192.0.2.7' }), /^a guard takes a Request and a function/],
    'no response': [() => forUsers(as('ada:pw'), () => {}, OPTIONS), /^the function of a guard must return a Response/],
    'no peer': [() => forUsers(as('ada:pw'), byName), /needs the address of the client/],
  }
  for (const [name, [run, message]] of Object.entries(rows))
    it(`is named: ${name}`, () => assert.rejects(async () => run(), { name: 'TypeError', message }))
})
