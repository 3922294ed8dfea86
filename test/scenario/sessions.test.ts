// The sessions of all users and administrators at /_cardea/api/sessions: listed, searched and ended.
import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { AS_ADMIN, send } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { startServer } from '../support/server.ts'

const { document: url } = await startServer(createSharedScope())

const ask = (method: string, path: string, body?: unknown) =>
  send(url, { method, path: `/_cardea/api${path}`, as: AS_ADMIN, ...(body !== undefined && { body }) })

for (const name of ['ada', 'adam', 'grace']) await ask('POST', '/users', { name, password: 'pw' })

async function signIn(name: string, userAgent: string): Promise<string> {
  const headers = { 'User-Agent': userAgent }
  const { headers: received } = await send(url, {
    method: 'POST',
    path: '/_session',
    headers,
    body: { name, password: 'pw' },
  })
  return String(received['set-cookie']).split(';')[0] ?? ''
}

const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0'

async function list(query: Readonly<Record<string, string>> = {}) {
  const { status, json, body } = await ask('GET', `/sessions?${new URLSearchParams(query)}`)
  assert.equal(status, 200, body)
  return json as { sessions: { id: string; name: string; client: string }[]; next?: string }
}

const listNames = async (query: Readonly<Record<string, string>> = {}) =>
  (await list(query)).sessions.map(({ name }) => name)

let cookies: readonly string[] = []

beforeEach(async () => {
  await ask('POST', '/sessions/end', { all: true })
  cookies = [await signIn('grace', 'nano/10'), await signIn('ada', FIREFOX), await signIn('adam', 'curl/8')]
})

const isOpen = async (cookie: string | undefined) => {
  const { json } = await send(url, { path: '/_session', headers: { Cookie: cookie ?? '' } })
  return json.userCtx.name !== null
}

describe('the list of all sessions', () => {
  it('is searched by the beginning of the user, the address and the client, and by age', async () => {
    const rows: readonly (readonly [query: Readonly<Record<string, string>>, found: readonly string[]])[] = [
      [{}, ['ada', 'adam', 'grace']],
      [{ search: 'ad' }, ['ada', 'adam']],
      [{ search: 'adam', by: 'user' }, ['adam']],
      [{ search: '127.', by: 'address' }, ['ada', 'adam', 'grace']],
      [{ search: '10.', by: 'address' }, []],
      [{ search: 'firefox', by: 'client' }, ['ada']],
      [{ search: 'CURL', by: 'client' }, ['adam']],
      [{ maxAge: '3600' }, ['ada', 'adam', 'grace']],
      [{ minAge: '3600' }, []],
      [{ minAge: '3600', search: 'ada' }, []],
    ]
    for (const [query, found] of rows)
      assert.deepEqual((await listNames(query)).toSorted(), found, JSON.stringify(query))
    assert.equal((await list({ search: 'firefox', by: 'client' })).sessions[0]?.client, 'Firefox on Linux')
  })

  it('has pages, with and without a search', async () => {
    for (const query of [{}, { search: '127', by: 'address' }]) {
      const first = await list({ ...query, limit: '2' })
      assert.equal(first.sessions.length, 2)
      const second = await list({ ...query, limit: '2', after: first.next ?? assert.fail('there is a next page') })
      const names = [...first.sessions, ...second.sessions].map(({ name }) => name)
      assert.deepEqual(names.toSorted(), ['ada', 'adam', 'grace'])
      assert.equal(second.next, undefined)
    }
    assert.equal((await ask('GET', '/sessions?after=x')).json.error, 'bad_request')
  })

  it('leaves out sessions that have ended with all of their user, and fills the page with others', async () => {
    for (let at = 0; at < 5; at += 1) await signIn('adam', 'curl/8')
    await ask('POST', '/users/adam/sign-out')
    for (const query of [{ limit: '2' }, {}]) assert.deepEqual((await listNames(query)).toSorted(), ['ada', 'grace'])
  })
})

describe('sessions', () => {
  it('end by their ids', async () => {
    const ids = (await list({ search: 'ad' })).sessions.map(({ id }) => id)
    assert.deepEqual((await ask('POST', '/sessions/end', { ids: [...ids, 'unknown'] })).json, { endedSessions: 2 })
    assert.deepEqual(await Promise.all(cookies.map(isOpen)), [true, false, false])
  })

  it('end by a filter, also those that the page does not show', async () => {
    assert.deepEqual((await ask('POST', '/sessions/end', { all: true, search: 'ad' })).json, { endedSessions: 2 })
    assert.deepEqual(await Promise.all(cookies.map(isOpen)), [true, false, false])
    assert.deepEqual((await ask('POST', '/sessions/end', { all: true, minAge: 60 })).json, { endedSessions: 0 })
    assert.deepEqual(await Promise.all(cookies.map(isOpen)), [true, false, false])
  })

  it('stay unless the body says which, or that all end', async () => {
    for (const body of [{}, { search: 'ad' }, { ids: [] }, { ids: ['a'], all: true }, { ids: ['a'], search: 'ad' }])
      assert.equal((await ask('POST', '/sessions/end', body)).json.error, 'bad_request', JSON.stringify(body))
    assert.deepEqual(await Promise.all(cookies.map(isOpen)), [true, true, true])
  })
})
