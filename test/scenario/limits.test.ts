// Limits on password checks, at every place where a password or a code is checked.
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { describe, it, type TestContext } from 'node:test'
import type { CardeaOptions } from '../../src/index.ts'
import { ADMIN, basic, type Reply, type Request, send } from '../support/request.ts'
import { startServer } from '../support/server.ts'

const NO_LOCK = { chttpd_auth_lockout: { mode: 'off' } } as const
const FEW_OF_ACCOUNT: CardeaOptions = { ...NO_LOCK, auth: { 'account-failures': 3 } }
const FEW_OF_PEER: CardeaOptions = { ...NO_LOCK, auth: { 'peer-failures': 3 } }

type Door = 'document' | 'multiModel'

async function open(t: TestContext, options: CardeaOptions) {
  const { document, multiModel, log } = await startServer(t, options)
  const urls = { document, multiModel }
  const add = json('POST', '/_api/user', { user: 'ada', passwd: 'ada-pw' }, ADMIN)
  assert.equal((await send(urls.multiModel, add)).status, 201)
  return { ...urls, lines: log, ask: (door: Door, sent: Request) => send(urls[door], sent) }
}

const json = (
  method: string,
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Request => ({
  method,
  path,
  headers: { 'Content-Type': 'application/json', ...headers },
  body: JSON.stringify(body),
})

interface Way {
  readonly door: Door
  sent(name: string, password: string): Request
  readonly wrong: number
  readonly said: unknown
}

const DOCUMENT = { error: 'too_many_requests', reason: 'Too many failed password checks. Try again later.' }
const CONTROL = { error: 'too_many_requests', reason: 'Too many failed password checks; try again later.' }
const MULTI_MODEL = {
  error: true,
  code: 429,
  errorNum: 429,
  errorMessage: 'too many failed password checks, try again later',
}

/** Every way to have a password checked. */
const WAYS: Readonly<Record<string, Way>> = {
  'Basic at the document door': {
    door: 'document',
    sent: (name, password) => ({ path: '/_session', headers: { Authorization: basic(name, password) } }),
    wrong: 401,
    said: DOCUMENT,
  },
  'POST /_session': {
    door: 'document',
    sent: (name, password) => json('POST', '/_session', { name, password }),
    wrong: 401,
    said: DOCUMENT,
  },
  'Basic at the multi-model door': {
    door: 'multiModel',
    sent: (name, password) => ({ path: '/_api/version', headers: { Authorization: basic(name, password) } }),
    wrong: 401,
    said: MULTI_MODEL,
  },
  'POST /_open/auth': {
    door: 'multiModel',
    sent: (username, password) => json('POST', '/_open/auth', { username, password }),
    wrong: 401,
    said: MULTI_MODEL,
  },
  'POST /_api/user/{user}': {
    door: 'multiModel',
    sent: (name, passwd) => json('POST', `/_api/user/${name}`, { passwd }, ADMIN),
    wrong: 404,
    said: MULTI_MODEL,
  },
  'the admin API': {
    door: 'document',
    sent: (name, password) => ({ path: '/_cardea/api/users', headers: { Authorization: basic(name, password) } }),
    wrong: 401,
    said: CONTROL,
  },
}

const toLimited = ({ status, headers, body }: Reply) => [status, headers['retry-after'], JSON.parse(body)]

describe('limit of an account', () => {
  for (const [name, { door, sent, wrong, said }] of Object.entries(WAYS)) {
    it(`${name}: 429 with Retry-After after too many failures, for the right password too`, async (t) => {
      const { ask } = await open(t, FEW_OF_ACCOUNT)
      for (let turn = 0; turn < 3; turn += 1) assert.equal((await ask(door, sent('ada', 'wrong'))).status, wrong)
      const [status, seconds, body] = toLimited(await ask(door, sent('ada', 'ada-pw')))
      assert.deepEqual([status, body], [429, said])
      // a minute since the last failure, on a busy machine some of it over
      assert.ok(Number(seconds) > 30 && Number(seconds) <= 60, seconds)
    })
  }

  it('counts the failures of all ways and doors together', async (t) => {
    const { ask } = await open(t, { ...NO_LOCK, auth: { 'account-failures': 4 } })
    for (const { door, sent, wrong } of Object.values(WAYS).slice(0, 4))
      assert.equal((await ask(door, sent('ada', 'wrong'))).status, wrong)
    for (const { door, sent } of Object.values(WAYS).slice(0, 4))
      assert.equal((await ask(door, sent('ada', 'ada-pw'))).status, 429)
  })

  it('counts wrong one-time codes', async (t) => {
    const { ask } = await open(t, FEW_OF_ACCOUNT)
    const totp = { key: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ' }
    const eve = { name: 'eve', password: 'eve-pw', type: 'user', roles: [], totp }
    assert.equal((await ask('document', json('PUT', '/_users/org.couchdb.user:eve', eve, ADMIN))).status, 201)
    const guess = { name: 'eve', password: 'eve-pw', token: '000000x' }
    const statuses = []
    for (let turn = 0; turn < 4; turn += 1)
      statuses.push((await ask('document', json('POST', '/_session', guess))).status)
    assert.deepEqual(statuses, [401, 401, 401, 429])
  })

  it('applies to unknown names too', async (t) => {
    const { ask } = await open(t, FEW_OF_ACCOUNT)
    const sent = () => ask('document', json('POST', '/_session', { name: 'unknown', password: 'wrong' }))
    const statuses = []
    for (let turn = 0; turn < 4; turn += 1) statuses.push((await sent()).status)
    assert.deepEqual(statuses, [401, 401, 401, 429])
  })

  it('does not apply to a session or an address that proved the password', async (t) => {
    const { ask, document } = await open(t, FEW_OF_ACCOUNT)
    const { headers } = await ask('document', json('POST', '/_session', { name: 'ada', password: 'ada-pw' }))
    const cookie = headers['set-cookie']?.[0]?.split(';')[0] ?? ''
    const attack = () => sendFrom('127.0.0.2', document, 'ada', 'wrong')
    for (let turn = 0; turn < 3; turn += 1) assert.equal(await attack(), 401)
    assert.equal(await attack(), 429)
    assert.equal((await ask('document', { path: '/_session', headers: { Cookie: cookie } })).status, 200)
    const known = { path: '/_session', headers: { Authorization: basic('ada', 'ada-pw') } }
    assert.equal((await ask('document', known)).status, 200)
    assert.equal(await sendFrom('127.0.0.3', document, 'ada', 'ada-pw'), 429)
  })

  it('is recorded once as a security event', async (t) => {
    const { ask, lines } = await open(t, FEW_OF_ACCOUNT)
    const { sent } = WAYS['POST /_session'] as Way
    for (let turn = 0; turn < 9; turn += 1) await ask('document', sent('ada', 'wrong'))
    const events = lines.filter(({ fields }) => fields?.['event'] === 'limit.started')
    assert.deepEqual(
      events.map(({ fields }) => [fields?.['limit'], fields?.['subject'], fields?.['seconds']]),
      [['account', 'ada', 60]],
    )
  })
})

/** The status of a sign-in from an address of the loopback. */
function sendFrom(localAddress: string, base: string, name: string, password: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const options = { localAddress, agent: false, headers: { Authorization: basic(name, password) } }
    const sent = request(`${base}/_session`, options, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0))
    })
    sent.on('error', reject).end()
  })
}

describe('limit of a peer', () => {
  const guess = (name: string, address?: string): Request => ({
    path: '/_session',
    headers: {
      Authorization: basic(name, 'wrong'),
      ...(address === undefined ? {} : { 'X-Forwarded-For': address }),
    },
  })
  const statusesOf = async (ask: (door: Door, sent: Request) => Promise<Reply>, rows: readonly Request[]) => {
    const statuses: number[] = []
    for (const sent of rows) statuses.push((await ask('document', sent)).status)
    return statuses
  }

  it('counts its failures for all names', async (t) => {
    const { ask, document } = await open(t, FEW_OF_PEER)
    assert.deepEqual(
      await statusesOf(
        ask,
        ['a', 'b', 'c', 'd'].map((name) => guess(name)),
      ),
      [401, 401, 401, 429],
    )
    assert.equal(await sendFrom('127.0.0.2', document, 'ada', 'ada-pw'), 200)
  })

  it('counts the direct peer if no proxies are configured', async (t) => {
    const { ask } = await open(t, FEW_OF_PEER)
    const rows = [1, 2, 3, 4].map((at) => guess(`n${at}`, `203.0.113.${at}`))
    assert.deepEqual(await statusesOf(ask, rows), [401, 401, 401, 429])
  })

  it('counts only the forwarded address if proxies are configured', async (t) => {
    const { ask } = await open(t, { ...FEW_OF_PEER, chttpd: { trusted_proxies: 'loopback' } })
    const rows = [1, 2, 3, 4].map((at) => guess(`n${at}`, `203.0.113.${at}`))
    assert.deepEqual(await statusesOf(ask, rows), [401, 401, 401, 401])
    const same = [1, 2, 3].map((at) => guess(`n${at}`, '203.0.113.1'))
    assert.deepEqual(await statusesOf(ask, same), [401, 401, 429])
  })

  it('counts IPv6 by network and IPv4 in IPv6 as IPv4', async (t) => {
    const { ask } = await open(t, { ...FEW_OF_PEER, chttpd: { trusted_proxies: 'loopback' } })
    const addresses = ['2001:db8::1', '2001:db8::2', '2001:db8:0:0:ffff::3', '2001:db8::4']
    const rows = addresses.map((address, at) => guess(`n${at}`, address))
    assert.deepEqual(await statusesOf(ask, rows), [401, 401, 401, 429])
    const mapped = ['192.0.2.9', '::ffff:192.0.2.9', '::ffff:c000:209', '192.0.2.9']
    const others = mapped.map((address, at) => guess(`m${at}`, address))
    assert.deepEqual(await statusesOf(ask, others), [401, 401, 401, 429])
  })

  it('counts wrong access tokens, with a name and without', async (t) => {
    const { ask } = await open(t, FEW_OF_PEER)
    const token = `v1.${Buffer.from(JSON.stringify({ u: 'ada', e: 2_000_000_000, c: 1 })).toString('hex')}`
    const statuses: number[] = []
    for (const name of ['', 'ada', '', ''])
      statuses.push(
        (await ask('multiModel', { path: '/_api/version', headers: { Authorization: basic(name, token) } })).status,
      )
    assert.deepEqual(statuses, [401, 401, 401, 429])
  })

  it('does not count an access token that has expired, which is no guess', async (t) => {
    const { ask } = await open(t, FEW_OF_PEER)
    const headers = { Authorization: basic('ada', 'ada-pw') }
    const body = { name: 'old', valid_until: 1 }
    const { json } = await ask('multiModel', { method: 'POST', path: '/_api/token/ada', headers, body })
    const signIn = async (password: string) =>
      (await ask('document', { method: 'POST', path: '/_session', body: { name: 'ada', password } })).status
    for (let round = 0; round < 6; round += 1) assert.equal(await signIn(json.token), 401)
    assert.equal(await signIn('ada-pw'), 200)
  })

  it('rejects a correct password from an address that never used it', async (t) => {
    const { ask } = await open(t, FEW_OF_PEER)
    await statusesOf(
      ask,
      ['a', 'b', 'c'].map((name) => guess(name)),
    )
    const sent = { path: '/_session', headers: { Authorization: basic('ada', 'ada-pw') } }
    const [status, after] = toLimited(await ask('document', sent))
    assert.deepEqual([status, after], [429, '6'])
  })

  it('never turns a credential into an anonymous request', async (t) => {
    const { ask } = await open(t, FEW_OF_PEER)
    await statusesOf(
      ask,
      ['a', 'b', 'c'].map((name) => guess(name)),
    )
    const headers = { Authorization: basic('ada', 'ada-pw') }
    for (const path of ['/_gate', '/anything']) assert.equal((await ask('multiModel', { path, headers })).status, 429)
  })
})

describe('under attack', () => {
  const SLOW: CardeaOptions = { chttpd_auth: { iterations: 200_000 } }

  it('a sign-in from another address overtakes waiting guesses', async (t) => {
    const { document, lines } = await open(t, SLOW)
    const isOver = new AbortController()
    const statuses: number[] = []
    const guesses = Array.from({ length: 100 }, (_, at) => guessUntil(document, `name${at}`, isOver.signal, statuses))
    // until some of them were checked, their address has no failure
    while (statuses.length < 2) await new Promise((resolve) => setImmediate(resolve))
    const before = statuses.length
    assert.equal(await sendFrom('127.0.0.2', document, 'ada', 'ada-pw'), 200)
    const overtaken = 100 - statuses.length
    isOver.abort()
    await Promise.all(guesses)
    // it waits for those that are running and for the turns of others, however slow the machine is
    assert.ok(overtaken > 80, `${before} were answered before it, ${100 - overtaken} in the end`)
    const errors = lines.filter(({ level }) => level === 'error')
    assert.deepEqual(errors, [], 'clients that left are no errors')
  })

  it('guesses of one address stop at its limit, even those that wait', async (t) => {
    const { document } = await open(t, { ...SLOW, auth: { 'peer-failures': 10 } })
    const begun = performance.now()
    const guesses = Array.from({ length: 60 }, (_, at) => sendFrom('127.0.0.1', document, `name${at}`, 'wrong'))
    const statuses = await Promise.all(guesses)
    const [wrong = 0, limited = 0] = [401, 429].map((status) => statuses.filter((each) => each === status).length)
    assert.equal(wrong + limited, 60)
    // one more every six seconds, which only a busy machine takes
    const allowed = 10 + Math.floor((performance.now() - begun) / 6000)
    assert.ok(wrong >= 10 && wrong <= allowed, `${wrong} guesses of ${allowed}`)
  })

  it('guesses that wait are not checked after the account was locked', async (t) => {
    const { document } = await open(t, SLOW)
    const guesses = Array.from({ length: 60 }, () => sendFrom('127.0.0.1', document, 'ada', 'wrong'))
    const statuses = await Promise.all(guesses)
    const counts = [401, 403].map((status) => statuses.filter((each) => each === status).length)
    assert.deepEqual(counts, [5, 55])
  })
})

/** One guess; leaves without waiting for the response when the attack is over. */
function guessUntil(base: string, name: string, signal: AbortSignal, statuses: number[]): Promise<void> {
  return new Promise((resolve) => {
    const options = { agent: false, signal, headers: { Authorization: basic(name, 'wrong') } }
    const sent = request(`${base}/_session`, options, (response) => {
      statuses.push(response.statusCode ?? 0)
      response.resume().on('end', resolve)
    })
    sent.on('error', () => resolve()).end()
  })
}
