import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSessionServer } from './session-server.ts'

const enforcing = createSessionServer({ chttpd_auth_lockout: { threshold: 3 } })
const standard = createSessionServer()
const warning = createSessionServer({ chttpd_auth_lockout: { mode: 'warn', threshold: 2 } })
const off = createSessionServer({ chttpd_auth_lockout: { mode: 'off', threshold: 1 } })

const LOCKED = {
  error: 'forbidden',
  reason: 'Account is temporarily locked due to multiple authentication failures',
}

type Server = typeof enforcing
type Headers = Readonly<Record<string, string>>

const WAYS = {
  Basic: (server: Server, name: string, password: string, headers: Headers = {}) =>
    server.ask('GET', '/_session', { as: `${name}:${password}`, headers }),
  'POST /_session': (server: Server, name: string, password: string, headers: Headers = {}) =>
    server.post({ name, password }, { headers }),
}

async function fail(server: Server, way: keyof typeof WAYS, name: string, times: number, headers: Headers = {}) {
  const statuses: number[] = []
  for (let i = 0; i < times; i += 1) statuses.push((await WAYS[way](server, name, 'wrong', headers)).status)
  return statuses
}

for (const way of ['Basic', 'POST /_session'] as const) {
  test(`${way}: at the threshold the account is locked, for the right password too`, async () => {
    const name = way === 'Basic' ? 'bea' : 'pat'
    await enforcing.add(name)
    assert.deepEqual(await fail(enforcing, way, name, 4), [401, 401, 401, 403])
    const { status, json, headers } = await WAYS[way](enforcing, name, `${name}-pw`)
    assert.deepEqual([status, json], [403, LOCKED])
    assert.match(String(headers['retry-after']), /^[1-9]\d{0,2}$/)
  })

  test(`${way}: an unknown name is locked too`, async () => {
    assert.deepEqual(await fail(enforcing, way, `unknown-${way.length}`, 4), [401, 401, 401, 403])
  })

  test(`${way}: an administrator is locked too`, async () => {
    const headers = { 'X-Forwarded-For': `203.0.113.${way.length}` }
    assert.deepEqual(await fail(enforcing, way, 'admin', 4, headers), [401, 401, 401, 403])
  })
}

test('failures by Basic and by POST /_session are counted together', async () => {
  await enforcing.add('both')
  await fail(enforcing, 'Basic', 'both', 2)
  assert.deepEqual(await fail(enforcing, 'POST /_session', 'both', 2), [401, 403])
})

test('the default threshold is 5', async () => {
  await standard.add('five')
  assert.deepEqual(await fail(standard, 'Basic', 'five', 6), [401, 401, 401, 401, 401, 403])
})

test('a success does not reset the count', async () => {
  await enforcing.add('mixed')
  await fail(enforcing, 'Basic', 'mixed', 2)
  assert.equal((await WAYS.Basic(enforcing, 'mixed', 'mixed-pw')).status, 200)
  assert.deepEqual(await fail(enforcing, 'Basic', 'mixed', 2), [401, 403])
})

test('a new password resets the count', async () => {
  await enforcing.add('fresh')
  await fail(enforcing, 'Basic', 'fresh', 4)
  await enforcing.change('fresh', { password: 'new' })
  assert.equal((await WAYS.Basic(enforcing, 'fresh', 'new')).status, 200)
})

test('a session continues while its account is locked', async () => {
  await enforcing.add('on')
  const cookie = await enforcing.begin('on')
  assert.deepEqual(await fail(enforcing, 'Basic', 'on', 4), [401, 401, 401, 403])
  assert.equal((await enforcing.identifyCookie(cookie)).name, 'on')
})

test('failures of one client do not lock out another behind the same trusted proxy', async () => {
  await enforcing.add('peers')
  const [here, there] = [{ 'X-Forwarded-For': '203.0.113.7' }, { 'X-Forwarded-For': '203.0.113.8' }]
  assert.deepEqual(await fail(enforcing, 'Basic', 'peers', 4, here), [401, 401, 401, 403])
  assert.equal((await WAYS.Basic(enforcing, 'peers', 'peers-pw', there)).status, 200)
})

test('a reply about a locked account neither sets nor clears a cookie', async () => {
  await enforcing.add('bare')
  await fail(enforcing, 'POST /_session', 'bare', 3)
  const answer = await enforcing.post({ name: 'bare', password: 'bare-pw' }, { query: '?fail=/denied' })
  assert.deepEqual([answer.status, answer.headers['set-cookie'], answer.headers.location], [403, undefined, undefined])
})

test('concurrent failures are counted', async () => {
  await enforcing.add('burst')
  const statuses = await Promise.all(
    Array.from({ length: 20 }, () => WAYS['POST /_session'](enforcing, 'burst', 'wrong')),
  )
  assert.equal(statuses.filter(({ status }) => status === 401).length, 3)
})

for (const [what, server] of [
  ['mode warn', warning],
  ['mode off', off],
] as const) {
  test(`${what} locks no account`, async () => {
    await server.add('free')
    assert.deepEqual(await fail(server, 'Basic', 'free', 4), [401, 401, 401, 401])
    assert.equal((await WAYS.Basic(server, 'free', 'free-pw')).status, 200)
  })
}
