import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CardeaError } from '../../../src/index.ts'
import { send } from '../../support/request.ts'
import type { Server } from '../../support/server.ts'
import { openCardea, serve } from './server.ts'

const JSON_TYPE = { 'Content-Type': 'application/json' }

/** The session cookie of a sign-in at the document door. */
async function signInAtDocument({ document }: Server): Promise<string> {
  const body = JSON.stringify({ name: 'ada', password: 'pw' })
  const headers = { ...JSON_TYPE, 'User-Agent': 'browser/1' }
  const answer = await send(document, { method: 'POST', path: '/_session', headers, body })
  return answer.lines['set-cookie']?.[0]?.split(';')[0] ?? ''
}

/** The token of a sign-in at the multi-model door. */
async function signInAtMultiModel({ multiModel }: Server): Promise<string> {
  const body = JSON.stringify({ username: 'ada', password: 'pw' })
  const answer = await send(multiModel, { method: 'POST', path: '/_open/auth', headers: JSON_TYPE, body })
  return `bearer ${JSON.parse(answer.body).jwt}`
}

const whoIs = async ({ document }: Server, headers: Record<string, string>): Promise<string | null> =>
  JSON.parse((await send(document, { path: '/_session', headers })).body).userCtx.name

const statusAt = async ({ multiModel }: Server, Authorization: string): Promise<number> =>
  (await send(multiModel, { path: '/_api/user/ada', headers: { Authorization } })).status

describe('cardea.sessions', () => {
  it('lists the sessions of both doors, with their clients', async (t) => {
    const server = await openCardea(t)
    const before = Date.now()
    await signInAtDocument(server)
    await signInAtMultiModel(server)
    const { sessions, next } = await server.cardea.sessions.list('ada')
    assert.equal(next, undefined)
    assert.deepEqual(sessions.map(({ door }) => door).toSorted(), ['document', 'multi-model'])
    const session = sessions.find(({ door }) => door === 'document') ?? assert.fail()
    assert.deepEqual([session.name, session.peer, session.userAgent], ['ada', '127.0.0.1', 'browser/1'])
    const ages = [session.createdAt, session.lastSeenAt].map((time) => time.getTime() - before)
    assert.ok(
      ages.every((age) => age > -60_000 && age < 10_000),
      String(ages),
    )
    assert.ok(session.expiresAt.getTime() > before + 600_000)
    assert.deepEqual((await server.cardea.sessions.list('admin')).sessions, [])
  })

  it('revokes a session at the document door, at once and alone', async (t) => {
    const server = await openCardea(t)
    const [one, other] = [await signInAtDocument(server), await signInAtDocument(server)]
    const user = await server.cardea.authenticate(new Request('http://a/', { headers: { Cookie: one } }))
    assert.equal(await server.cardea.sessions.revoke(user?.sessionId ?? ''), true)
    assert.deepEqual([await whoIs(server, { Cookie: one }), await whoIs(server, { Cookie: other })], [null, 'ada'])
    assert.equal((await server.cardea.sessions.list('ada')).sessions.length, 1)
  })

  it('revokes a session at the multi-model door', async (t) => {
    const server = await openCardea(t)
    const token = await signInAtMultiModel(server)
    assert.equal(await statusAt(server, token), 200)
    const [session] = (await server.cardea.sessions.list('ada')).sessions
    assert.equal(await server.cardea.sessions.revoke(session?.id ?? ''), true)
    assert.equal(await statusAt(server, token), 401)
    assert.equal(await server.cardea.sessions.revoke(session?.id ?? ''), false)
    assert.equal(await server.cardea.sessions.revoke('unknown'), false)
  })

  it('creates a session that the document door and authenticate accept', async (t) => {
    const server = await openCardea(t)
    const session = await server.cardea.sessions.create('ada')
    assert.match(session.cookie, /^AuthSession=[\w-]+; Version=1; Expires=[^;]+; Max-Age=600; Path=\/; HttpOnly$/)
    assert.ok(Math.abs(session.expiresAt.getTime() - Date.now() - 600_000) < 60_000)
    const headers = { Cookie: session.cookie.split(';')[0] ?? '' }
    assert.equal(await whoIs(server, headers), 'ada')
    const user = await server.cardea.authenticate(new Request('http://a/', { headers }))
    assert.deepEqual(user, {
      id: user?.id,
      name: 'ada',
      roles: ['reader'],
      isAdmin: false,
      by: 'cookie',
      sessionId: session.id,
    })
  })

  it('sets the cookie in the response, Secure behind TLS', async (t) => {
    const { cardea } = await openCardea(t, { chttpd: { trusted_proxies: '127.0.0.1' } })
    const base = await serve(t, async (request, response) => {
      await cardea.sessions.create('ada', { request, response })
      response.end()
    })
    const answer = await send(base, { path: '/', headers: { 'X-Forwarded-Proto': 'https', 'User-Agent': 'app/1' } })
    assert.match(answer.lines['set-cookie']?.join() ?? '', /^AuthSession=.*; Secure; Path=\/; HttpOnly$/)
    const [session] = (await cardea.sessions.list('ada')).sessions
    assert.deepEqual([session?.peer, session?.userAgent], ['127.0.0.1', 'app/1'])
  })

  it('reads the scheme of a web Request, and of the headers of a trusted proxy', async (t) => {
    const { cardea } = await openCardea(t, { chttpd: { trusted_proxies: '192.0.2.1' } })
    const headers = { 'X-Forwarded-Proto': 'https' }
    const rows: readonly [url: string, headers: Record<string, string>, peer: string, isSecure: boolean][] = [
      ['https://a/', {}, '192.0.2.7', true],
      ['http://a/', {}, '192.0.2.7', false],
      ['http://a/', headers, '192.0.2.1', true],
      ['http://a/', headers, '192.0.2.7', false],
    ]
    for (const [url, sent, peer, isSecure] of rows) {
      const request = new Request(url, { headers: sent })
      const { cookie } = await cardea.sessions.create('ada', { request, peer })
      assert.equal(/; Secure/.test(cookie), isSecure, `${url} ${peer}`)
      const cleared = new Headers()
      await cardea.sessions.clearCookie(cleared, { request, peer })
      assert.equal(/; Secure/.test(cleared.get('set-cookie') ?? ''), isSecure)
    }
  })

  it('counts as opened with the password only for the user that verifyPassword returned', async (t) => {
    const server = await openCardea(t)
    const { cardea, document } = server
    const removeSelf = async (cookie: string) => {
      const headers = { Cookie: cookie.split(';')[0] ?? '', ...JSON_TYPE }
      const path = '/_users/org.couchdb.user:ada'
      const { _rev: revision } = JSON.parse((await send(document, { path, headers })).body)
      return (await send(document, { method: 'DELETE', path: `${path}?rev=${revision}`, headers })).status
    }
    const verified = (await cardea.users.verifyPassword('ada', 'pw')) ?? assert.fail()
    assert.equal(await removeSelf((await cardea.sessions.create('ada')).cookie), 403)
    assert.equal(await removeSelf((await cardea.sessions.create({ ...verified })).cookie), 403)
    assert.equal(await removeSelf((await cardea.sessions.create(verified)).cookie), 200)
  })

  it('is revoked already if the password has changed since it was verified', async (t) => {
    const server = await openCardea(t)
    const verified = (await server.cardea.users.verifyPassword('ada', 'pw')) ?? assert.fail()
    await server.cardea.users.setPassword('ada', 'engine')
    const { cookie } = await server.cardea.sessions.create(verified)
    assert.equal(await whoIs(server, { Cookie: cookie.split(';')[0] ?? '' }), null)
  })

  it('has pages', async (t) => {
    const { cardea } = await openCardea(t)
    const ids = new Set<string>()
    for (let count = 0; count < 3; count += 1) ids.add((await cardea.sessions.create('ada')).id)
    const first = await cardea.sessions.list('ada', { limit: 2 })
    const second = await cardea.sessions.list('ada', { limit: 2, after: first.next ?? '' })
    assert.deepEqual(new Set([...first.sessions, ...second.sessions].map(({ id }) => id)), ids)
    assert.equal(second.next, undefined)
  })

  it('ends all sessions of a user but one, and clears the cookie', async (t) => {
    const server = await openCardea(t)
    const { sessions } = server.cardea
    const kept = await sessions.create('ada')
    const cookie = await signInAtDocument(server)
    const token = await signInAtMultiModel(server)
    assert.equal(await sessions.revokeAll('ada', { kept: kept.id }), 2)
    assert.deepEqual([await whoIs(server, { Cookie: cookie }), await statusAt(server, token)], [null, 401])
    assert.equal(await whoIs(server, { Cookie: kept.cookie.split(';')[0] ?? '' }), 'ada')
    assert.equal(await sessions.revokeAll('ada'), 1)
    const headers = new Headers()
    await sessions.clearCookie(headers, { request: new Request('https://a/') })
    assert.match(headers.get('set-cookie') ?? '', /^AuthSession=; .*Secure/)
  })

  it('refuses names that cannot sign in, and values of another type', async (t) => {
    const { cardea } = await openCardea(t)
    // a program without types may give anything
    const sessions = cardea.sessions as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>
    const rows: readonly [method: string, args: unknown[], code: string][] = [
      ['create', ['unknown'], 'not_found'],
      ['create', [undefined], 'bad_request'],
      ['create', [{}], 'bad_request'],
      ['create', ['ada', { secure: true }], 'bad_request'],
      ['list', [undefined], 'bad_request'],
      ['list', ['ada', { limit: 1001 }], 'bad_request'],
      ['list', ['ada', { after: 'x' }], 'bad_request'],
      ['revoke', [5], 'bad_request'],
      ['revokeAll', [5], 'bad_request'],
      ['revokeAll', ['ada', { kept: 5 }], 'bad_request'],
      ['clearCookie', [new Headers(), { name: 'ada' }], 'bad_request'],
    ]
    for (const [method, args, code] of rows)
      await assert.rejects(
        async () => sessions[method]?.(...args),
        (error) => error instanceof CardeaError && error.code === code,
        JSON.stringify([method, args]),
      )
  })
})
