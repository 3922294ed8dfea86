// Two worker threads: once a change is acknowledged, none of them accepts what was valid before.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, writeFileSync } from 'node:fs'
import { Agent, request as httpRequest } from 'node:http'
import { connect } from 'node:http2'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { readTotp, renderCode } from '../../src/directory/second-factor/totp.ts'
import { now, userToken } from '../support/multi-model.ts'
import { FREE_PORTS, type Started, start, stop } from '../support/process.ts'
import { basic, createAsk } from '../support/request.ts'
import { createSharedScope, makeFolder, type Scope } from '../support/scope.ts'
import { MULTI_MODEL_SECRET, openBackend } from '../support/upstream.ts'
import { waitUntil } from '../support/wait.ts'

const ADMIN = basic('anna', 'secret')
const CLIENTS = process.env['TEST_LONG'] === undefined ? 4 : 8
/** Between the requests of a client while workers are replaced: without it, the load takes most of the time of the test. */
const PAUSE_MS = 5
const ROLLS = process.env['TEST_LONG'] === undefined ? 1 : 20
/** Requests after each change. The long form sends more than 20 000 in all. */
const LATE_REQUESTS = process.env['TEST_LONG'] === undefined ? 48 : 1700

interface Doors {
  readonly cardea: Started
  readonly document: string
  readonly multiModel: string
  readonly folder: string
}

/** Two workers that serve. */
async function serve(
  scope: Scope,
  { folder, env = {} }: { readonly folder: string; readonly env?: Readonly<Record<string, string>> },
  ...args: readonly string[]
): Promise<Doors> {
  const settings = ['--config', join(folder, 'a.ini'), '--server.workers', '2', ...args]
  const cardea = start(scope, ['serve', ...FREE_PORTS, ...settings], { env })
  const doors = await cardea.doors()
  await waitUntil(async () => (await readMetric(doors.document, 'cardea_workers')) === 2)
  return { cardea, folder, ...doors }
}

async function readMetric(document: string, name: string): Promise<number> {
  const { body } = await createAsk(document)('GET', '/_cardea/metrics', { as: ADMIN })
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(body)?.[1])
}

/** The upstream responds to these requests when the test says so. */
const HELD = '/db/held'

async function makeConfiguration(scope: Scope) {
  const folder = makeFolder(scope)
  // what the main thread alone says to the workers
  const held: (() => void)[] = []
  const { url } = await openBackend(scope, (request, response) => {
    const respond = () => response.setHeader('X-Cardea-Decision', '{').end('{}')
    if (request.url === HELD) held.push(respond)
    else respond()
  })
  writeFileSync(join(folder, 'upstream-secret'), MULTI_MODEL_SECRET)
  writeFileSync(join(folder, 'token-secret'), 'the-first-secret-of-the-tokens-here')
  const sections = {
    admins: { anna: 'secret' },
    upstream: {
      document: url,
      'document-secret': 'a-secret-the-document-upstream-shares',
      'multi-model': url,
      'multi-model-secret-keyfile': join(folder, 'upstream-secret'),
    },
    server: { 'jwt-secret-keyfile': join(folder, 'token-secret') },
    auth: { 'peer-failures': 0 },
    door: { 'stop-timeout': 1 },
  }
  const lines = Object.entries(sections).map(
    ([section, values]) =>
      `[${section}]\n${Object.entries(values)
        .map(([name, value]) => `${name} = ${value}\n`)
        .join('')}`,
  )
  writeFileSync(join(folder, 'a.ini'), lines.join(''), { mode: 0o600 })
  return { folder, held }
}

interface Sent {
  readonly status: number
  readonly body: string
}

/** A client with a connection of its own, or one for each request. */
function openClient(base: string, keepAlive = true) {
  const agent = new Agent({ keepAlive, maxSockets: 1 })
  const get = (path: string, headers: Record<string, string>): Promise<Sent> =>
    new Promise((resolve, reject) => {
      const sent = httpRequest(new URL(path, base), { agent, headers }, (response) => {
        let body = ''
        response.on('data', (chunk) => {
          body += chunk
        })
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body })).on('error', reject)
      })
      sent.on('error', reject).end()
    })
  return { get, close: () => agent.destroy() }
}

interface Race {
  readonly name: string
  readonly door?: 'multiModel'
  readonly path?: string
  /** Returns the headers with which the requests are accepted until the change. */
  prepare(doors: Doors, name: string): Promise<Record<string, string>>
  change(doors: Doors, name: string, headers: Record<string, string>): Promise<unknown>
  /** Whether the response is that of the state before the change. */
  isOld?(sent: Sent): boolean
  restore?(doors: Doors): Promise<unknown>
}

async function must(reply: Promise<{ readonly status: number; readonly body: string; readonly json: unknown }>) {
  const { status, body, json } = await reply
  assert.ok(status < 300, `${status} ${body}`)
  return Object(json)
}

const api = ({ document }: Doors, method: string, path: string, body?: unknown, as = ADMIN) =>
  must(createAsk(document)(method, `/_cardea/api${path}`, { as, body }))

async function addUser(doors: Doors, name: string, more: object = {}) {
  await api(doors, 'POST', '/users', { name, password: 'one', ...more })
  return { Authorization: basic(name, 'one') }
}

async function signIn(doors: Doors, name: string) {
  await addUser(doors, name)
  const reply = await createAsk(doors.document)('POST', '/_session', { body: { name, password: 'one' } })
  return { Cookie: (reply.header('set-cookie') ?? '').split(';')[0] ?? '' }
}

const SHOP = { grants: [{ database: 'shop', level: 'rw' }] }
const isNamed = ({ body }: Sent): boolean => Boolean(JSON.parse(body).userCtx?.name)
const setRequired = ({ document }: Doors, value: string) =>
  must(createAsk(document)('PUT', '/_node/_local/_config/chttpd/require_valid_user', { as: ADMIN, body: `"${value}"` }))

const RACES: readonly Race[] = [
  {
    name: 'a new password',
    prepare: addUser,
    change: (doors, name) => api(doors, 'PUT', `/users/${name}/password`, { password: 'two' }),
  },
  {
    name: 'a new password, through the gateway',
    path: '/db/doc',
    prepare: addUser,
    change: (doors, name) => api(doors, 'PUT', `/users/${name}/password`, { password: 'two' }),
  },
  {
    name: 'other roles',
    prepare: (doors, name) => addUser(doors, name, { roles: ['old'] }),
    isOld: ({ body }) => body.includes('"old"'),
    change: (doors, name) => api(doors, 'PUT', `/users/${name}/roles`, { roles: ['new'] }),
  },
  {
    name: 'a user who is deactivated',
    prepare: addUser,
    change: (doors, name) => api(doors, 'PUT', `/users/${name}/active`, { active: false }),
  },
  { name: 'a user who is removed', prepare: addUser, change: (doors, name) => api(doors, 'DELETE', `/users/${name}`) },
  {
    name: 'a session that ends',
    prepare: signIn,
    isOld: isNamed,
    change: (doors, _name, headers) => must(createAsk(doors.document)('DELETE', '/_session', { headers })),
  },
  {
    name: 'a cookie secret that is replaced',
    prepare: signIn,
    isOld: isNamed,
    change: (doors) => api(doors, 'POST', '/secrets/replacement', { now: true }),
  },
  {
    name: 'an access token that is deleted',
    door: 'multiModel',
    path: '/_db/shop/_api/collection',
    async prepare(doors, name) {
      await addUser(doors, name, SHOP)
      const body = { name: 'program', valid_until: now() + 1000 }
      const made = await must(
        createAsk(doors.multiModel)('POST', `/_api/token/${name}`, { as: basic(name, 'one'), body }),
      )
      return { Authorization: basic(name, made.token) }
    },
    change: (doors, name) =>
      must(createAsk(doors.multiModel)('DELETE', `/_api/token/${name}/1`, { as: basic(name, 'one') })),
  },
  {
    name: 'a second factor',
    prepare: addUser,
    async change(doors, name) {
      const as = basic(name, 'one')
      const { secret } = await api(doors, 'POST', '/account/totp', undefined, as)
      const totp = readTotp({ key: secret }) ?? assert.fail()
      const code = renderCode(totp, Math.floor(Date.now() / 30_000))
      await api(doors, 'POST', '/account/totp/confirm', { secret, code }, as)
    },
  },
  {
    name: 'a secret of tokens that is replaced',
    door: 'multiModel',
    path: '/_db/shop/_api/collection',
    async prepare(doors, name) {
      await addUser(doors, name, SHOP)
      const secret = 'the-first-secret-of-the-tokens-here'
      return { Authorization: userToken(name, {}, { secret }) }
    },
    async change(doors) {
      writeFileSync(join(doors.folder, 'token-secret'), 'the-second-secret-of-the-tokens-here')
      await api(doors, 'POST', '/secrets/reload')
    },
    async restore(doors) {
      writeFileSync(join(doors.folder, 'token-secret'), 'the-first-secret-of-the-tokens-here')
      await api(doors, 'POST', '/secrets/reload')
    },
  },
  {
    name: 'an option',
    prepare: async () => ({}),
    change: (doors) => setRequired(doors, 'true'),
    restore: (doors) => setRequired(doors, 'false'),
  },
  {
    name: 'an administrator who is removed',
    async prepare(doors, name) {
      await api(doors, 'POST', '/administrators', { name, password: 'one' })
      return { Authorization: basic(name, 'one') }
    },
    change: (doors, name) => api(doors, 'DELETE', `/administrators/${name}`),
  },
  {
    name: 'grants that are taken away',
    door: 'multiModel',
    path: '/_db/shop/_api/collection',
    prepare: (doors, name) => addUser(doors, name, SHOP),
    change: (doors, name) => api(doors, 'PUT', `/users/${name}/grants`, { database: 'shop', level: 'none' }),
  },
]

/** Resolves when all workers are replaced. */
async function roll(doors: Doors): Promise<void> {
  const countRolls = () => doors.cardea.stderr().split('worker threads were replaced').length
  const before = countRolls()
  await api(doors, 'POST', '/reload', { rolling: true })
  await waitUntil(() => countRolls() > before)
}

/** Sends requests while the change is made. Returns how many saw the old state although they were sent after it. */
async function race(doors: Doors, row: Race, name: string): Promise<{ late: number; stale: number }> {
  const { path = '/_session', isOld = ({ status }: Sent) => status === 200 } = row
  const headers = await row.prepare(doors, name)
  const counts = { early: 0, late: 0, stale: 0 }
  let isAcknowledged = false
  const sendMany = async () => {
    const client = openClient(doors[row.door ?? 'document'])
    while (counts.late < LATE_REQUESTS) {
      const isLate = isAcknowledged
      const sent = await client.get(path, headers)
      if (isLate) counts.late += 1
      if (isLate && isOld(sent)) counts.stale += 1
      if (!isLate && isOld(sent)) counts.early += 1
    }
    client.close()
  }
  const running = Promise.all(Array.from({ length: CLIENTS }, sendMany))
  await Promise.race([waitUntil(() => counts.early >= 2 * CLIENTS), running])
  await row.change(doors, name, headers)
  isAcknowledged = true
  await running
  await row.restore?.(doors)
  return counts
}

describe('two workers', () => {
  const scope = createSharedScope()
  let doors: Doors
  let held: readonly (() => void)[]
  before(async () => {
    const made = await makeConfiguration(scope)
    held = made.held
    doors = await serve(scope, made, '--store.url', 'sqlite::memory:')
  })
  for (const [index, row] of RACES.entries())
    it(`accept nothing old after ${row.name}`, async () => {
      const { late, stale } = await race(doors, row, `user${index}`)
      assert.ok(late >= LATE_REQUESTS)
      assert.equal(stale, 0)
    })

  it('decide about known credentials themselves', async () => {
    const headers = await addUser(doors, 'known')
    const client = openClient(doors.document)
    for (let sent = 0; sent < 10; sent += 1) await client.get('/_session', headers)
    const before = await readMetric(doors.document, 'cardea_relayed_requests_total')
    for (let sent = 0; sent < 200; sent += 1) assert.equal((await client.get('/_session', headers)).status, 200)
    client.close()
    assert.ok((await readMetric(doors.document, 'cardea_relayed_requests_total')) - before < 100)
  })

  it('count guesses together', async () => {
    await addUser(doors, 'guessed')
    const guess = (password: string) =>
      createAsk(doors.document)('GET', '/_session', { as: basic('guessed', password) })
    const statuses: number[] = []
    for (let attempt = 0; attempt < 40; attempt += 1) statuses.push((await guess('wrong')).status)
    const allowed = statuses.filter((status) => status === 401).length
    assert.ok(allowed <= 21, `${allowed} of ${statuses.length} guesses were checked`)
  })

  it('are replaced one by one without a failed request', async () => {
    const headers = await addUser(doors, 'busy')
    let isDone = false
    let count = 0
    const sendMany = async (client: ReturnType<typeof openClient>) => {
      while (!isDone) {
        for (const path of ['/_session', '/db/doc']) assert.equal((await client.get(path, headers)).status, 200)
        count += 1
        await pause(PAUSE_MS)
      }
      client.close()
    }
    const clients = Array.from({ length: CLIENTS }, (_, index) => openClient(doors.document, index % 2 === 0))
    const running = Promise.all(clients.map(sendMany))
    for (let round = 0; round < ROLLS; round += 1) await Promise.race([roll(doors), running])
    isDone = true
    await running
    assert.ok(count > CLIENTS)
    assert.equal(await readMetric(doors.document, 'cardea_workers'), 2)
  })

  it('finish the requests that they have when they are replaced', async () => {
    const headers = await addUser(doors, 'patient')
    const asked = Array.from({ length: CLIENTS }, () => openClient(doors.document, false).get(HELD, headers))
    await waitUntil(() => held.length === CLIENTS)
    await roll(doors)
    for (const respond of held) respond()
    for (const { status } of await Promise.all(asked)) assert.equal(status, 200)
  })

  it('send GOAWAY to clients of HTTP/2 before they are replaced', async () => {
    const sessions = Array.from({ length: CLIENTS }, () => connect(doors.document).on('error', () => {}))
    const told = await Promise.all(
      sessions.map(async (session) => {
        const goaway = once(session, 'goaway')
        const [head] = await once(session.request({ ':path': '/_session' }).resume(), 'response')
        assert.equal(head[':status'], 200)
        return { goaway }
      }),
    )
    const replaced = roll(doors)
    for (const { goaway } of told) assert.equal((await goaway)[0], 0)
    for (const session of sessions) session.destroy()
    await replaced
  })

  it('end with the process, after the requests that they have', async () => {
    const set = createAsk(doors.document)('PUT', '/_node/_local/_config/door/stop-timeout', {
      as: ADMIN,
      body: '"600"',
    })
    await must(set)
    const known = await addUser(doors, 'known-at-the-end')
    const unknown = await addUser(doors, 'relayed-at-the-end')
    const clients = Array.from({ length: CLIENTS }, () => openClient(doors.document))
    for (const client of clients) assert.equal((await client.get('/db/doc', known)).status, 200)
    const before = held.length
    const asked = clients.map((client, index) => client.get(HELD, index % 2 === 0 ? known : unknown))
    await waitUntil(() => held.length === before + CLIENTS)
    const stopped = stop(doors.cardea)
    await waitUntil(() => /"msg":"stopping"/.test(doors.cardea.stderr() + doors.cardea.stdout()))
    for (const respond of held.slice(before)) respond()
    for (const { status } of await Promise.all(asked)) assert.equal(status, 200)
    // far before the stop timeout
    await stopped
    assert.doesNotMatch(doors.cardea.stderr(), /a worker thread has (?:ended|failed)|cannot be started/)
  })
})

it('a process that is killed under load keeps every user it has acknowledged, and no file it has left', async (t) => {
  const { folder } = await makeConfiguration(t)
  const temporary = makeFolder(t)
  const store = ['--store.url', `sqlite:${join(folder, 'store.db')}`]
  const doors = await serve(t, { folder, env: { TMPDIR: temporary } }, ...store)
  const kept: string[] = []
  const addMany = async (client: number) => {
    for (let index = 0; ; index += 1) {
      const name = `user-${client}-${index}`
      await addUser(doors, name)
      kept.push(name)
    }
  }
  const adding = Array.from({ length: CLIENTS }, (_, client) => addMany(client).catch(() => {}))
  await waitUntil(() => kept.length > 3 * CLIENTS)
  doors.cardea.child.kill('SIGKILL')
  await Promise.all(adding)
  await doors.cardea.ended
  const listFolders = () => readdirSync(temporary).filter((name) => name.startsWith('cardea-'))
  assert.equal(listFolders().length, 1)
  const again = await serve(t, { folder, env: { TMPDIR: temporary } }, ...store)
  for (const name of kept) await api(again, 'GET', `/users/${name}`)
  await stop(again.cardea)
  assert.deepEqual(listFolders(), [])
})
