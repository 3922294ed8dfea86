import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { before, test } from 'node:test'
import { createSessionServer, lineOf } from './session-server.ts'

const plain = createSessionServer()
const leading = createSessionServer({ chttpd_auth: { authentication_redirect: '/landing.html' } })

before(() => Promise.all([plain.add('ada'), leading.add('ada')]))

const RIGHT = { name: 'ada', password: 'ada-pw' }
const WRONG = { name: 'ada', password: 'wrong' }

test('next redirects a sign-in, with body and cookie', async () => {
  const answer = await plain.post(RIGHT, { query: '?next=/blog/_design/x' })
  assert.deepEqual([answer.status, answer.headers.location], [302, '/blog/_design/x'])
  assert.deepEqual(answer.json, { ok: true, name: 'ada', roles: [] })
  assert.match(lineOf(answer), /^AuthSession=[\w-]+;/)
})

test('next does not redirect a failed sign-in', async () => {
  const answer = await plain.post(WRONG, { query: '?next=/blog' })
  assert.deepEqual([answer.status, answer.headers.location], [401, undefined])
})

test('fail redirects a failed sign-in, with the error and a cleared cookie', async () => {
  const answer = await plain.post(WRONG, { query: '?fail=/denied' })
  assert.deepEqual([answer.status, answer.headers.location], [302, '/denied'])
  assert.deepEqual(answer.json, { error: 'unauthorized', reason: 'Name or password is incorrect.' })
  assert.match(lineOf(answer), /^AuthSession=;/)
})

test('fail does not redirect a sign-in', async () => {
  assert.equal((await plain.post(RIGHT, { query: '?fail=/denied' })).status, 200)
})

test('next redirects a sign-out', async () => {
  const answer = await plain.ask('DELETE', '/_session?next=/bye', { as: '' })
  assert.deepEqual([answer.status, answer.headers.location, answer.json], [302, '/bye', { ok: true }])
})

for (const [next, location] of [
  ['/', '/'],
  ['/a?b=c%26d', '/a?b=c&d'],
  ['/a%23b', '/a#b'],
  ['/a%20b', '/a%20b'],
  ['/caf%C3%A9/%E2%98%95', '/caf%C3%A9/%E2%98%95'],
  ['/%FF', '/%EF%BF%BD'],
  ['/a//b', '/a//b'],
  ['/%252F%252Fevil', '/%2F%2Fevil'],
  ['/a:b@c', '/a:b@c'],
]) {
  test(`next=${next} redirects to ${location}`, async () => {
    const answer = await plain.post(RIGHT, { query: `?next=${next}` })
    assert.deepEqual([answer.status, answer.headers.location], [302, location])
  })
}

const HOSTILE = readFileSync(new URL('../../fixtures/hostile-redirects.txt', import.meta.url), 'utf8').split('\n')

for (const path of HOSTILE.slice(0, -1)) {
  test(`a redirect to ${JSON.stringify(path)} is rejected`, async () => {
    const query = path.replaceAll('\\', '%5C').replaceAll('#', '%23')
    for (const [method, name, body] of [
      ['POST', 'next', RIGHT],
      ['POST', 'fail', WRONG],
      ['DELETE', 'next', undefined],
    ] as const) {
      const answer = await plain.ask(method, `/_session?${name}=${query}`, { as: '', ...(body && { body }) })
      assert.deepEqual([answer.status, answer.headers.location], [400, undefined], `${method} ${name}`)
      assert.match(answer.json.reason, /^path must be(?:gin with a \/| a path of this server)\.$/)
      assert.equal(answer.headers['set-cookie'], undefined)
    }
  })
}

for (const [accept, isRedirected] of [
  ['text/html', true],
  ['text/html,application/xhtml+xml,*/*;q=0.8', true],
  ['application/json, TEXT/HTML;q=0.5', true],
  ['text/html;q=0', false],
  ['text/html; q=0.000', false],
  ['*/*', false],
  ['text/*', false],
  ['application/json', false],
  ['text/htmlx', false],
  ['', false],
] as const) {
  test(`authentication_redirect ${isRedirected ? 'redirects' : 'does not redirect'} with Accept: ${accept || '(none)'}`, async () => {
    const answer = await leading.post(RIGHT, { headers: { Accept: accept } })
    assert.deepEqual([answer.status, answer.headers.location], isRedirected ? [302, '/landing.html'] : [200, undefined])
  })
}

test('next wins over authentication_redirect', async () => {
  const answer = await leading.post(RIGHT, { query: '?next=/mine', headers: { Accept: 'text/html' } })
  assert.equal(answer.headers.location, '/mine')
})

test('authentication_redirect does not redirect a failed sign-in', async () => {
  const answer = await leading.post(WRONG, { headers: { Accept: 'text/html' } })
  assert.deepEqual([answer.status, answer.headers.location], [401, undefined])
})

test('without authentication_redirect a browser is not redirected', async () => {
  assert.equal((await plain.post(RIGHT, { headers: { Accept: 'text/html' } })).status, 200)
})

test('a rejected request for a page is not redirected', async () => {
  const answer = await leading.ask('GET', '/_all_dbs', { as: '', headers: { Accept: 'text/html' } })
  assert.deepEqual([answer.status, answer.headers.location], [401, undefined])
})
