import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { SILENT_LOG } from '../../src/base/log.ts'
import type { AreaFinding } from '../../src/cli/check-store.ts'
import { checkMachine } from '../../src/cli/machine-checks.ts'
import { toNewUser } from '../../src/directory/users/revisions.ts'
import type { CheckFlags } from '../../src/modules/module.ts'
import { NO_PASSWORD } from '../../src/passwords/schemes.ts'
import { openStore } from '../../src/store/create-store.ts'
import { read } from '../config/given.ts'
import { withStore } from '../contract/store-backup.ts'
import { createIn } from '../contract/store-values.ts'
import { createPostgresPlace, createSqlitePlace } from '../store/places.ts'
import { connectPostgres } from '../store/postgres-server.ts'
import { startMailServer } from '../support/mail.ts'
import { startProvider } from '../support/provider.ts'
import { makeFolder } from '../support/scope.ts'
import { waitUntil } from '../support/wait.ts'

const postgres = await connectPostgres()
after(() => postgres.stop())

const TLS = fileURLToPath(new URL('../fixtures/tls', import.meta.url))
/** When the certificates of the fixtures expire. */
const EXPIRY_MS = Date.parse('2126-10-22T02:52:18Z')
const DAY_MS = 86_400_000

const MEMORY = ['--store.url', 'sqlite::memory:']

async function check(
  argv: readonly string[],
  { nowMs, flags = {} }: { nowMs?: number; flags?: CheckFlags } = {},
): Promise<readonly AreaFinding[]> {
  const { settings, problems } = read({ argv })
  assert.deepEqual(problems, [])
  return checkMachine({ settings, cwd: '/', storeProblem: undefined, server: undefined, flags }, nowMs)
}

const inArea = (findings: readonly AreaFinding[], name: string) => findings.filter(({ area }) => area === name)

test('reports every area as ok if nothing is wrong', async () => {
  const findings = await check(MEMORY)
  assert.deepEqual(
    findings.map(({ area, level }) => [area, level]),
    ['files', 'store', 'certificates', 'upstreams', 'passkeys', 'server', 'clock'].map((area) => [area, 'ok']),
  )
})

test('warns about keys of tokens without limits, and about limits of no key', async () => {
  const argv = (kid: string, text = 'c2VjcmV0LW9mLWEtcGhvbmUtMzItYnl0ZXMtbG9uZw==') => [`--jwt_keys.hmac:${kid}`, text]
  const limits = (kid: string) => [`--jwt_key_limits.hmac:${kid}`, 'names=ada']
  const find = async (given: readonly string[]) =>
    inArea(await check([...MEMORY, ...given]), 'keys').map(({ level, message }) => [level, message])
  assert.deepEqual(await find([...argv('a'), ...limits('a')]), [['ok', 'every key of [jwt_keys] has limits']])
  assert.deepEqual(await find([...argv('a'), ...limits('b')]), [
    ['problem', '[jwt_key_limits] hmac:b: there is no such key in [jwt_keys]; did you mean hmac:a?'],
    ['warning', '[jwt_keys] hmac:a has no limits: its tokens can have any name, and the role _admin'],
  ])
})

test('warns about secret files that others can read, and says how to close them', async (t) => {
  const folder = makeFolder(t)
  mkdirSync(join(folder, 'tokens'))
  for (const name of ['tokens/1', 'cookie', 'closed']) writeFileSync(join(folder, name), 'a-secret')
  chmodSync(join(folder, 'closed'), 0o640)
  const cookie = join(folder, 'cookie')
  const { settings } = read({
    argv: [
      ...MEMORY,
      '--server.jwt-secret-folder',
      join(folder, 'tokens'),
      '--upstream.multi-model-secret-keyfile',
      join(folder, 'closed'),
      `--chttpd_auth.secret=@file:${cookie}`,
    ],
    secrets: { [cookie]: 'a-secret' },
  })
  const findings = await checkMachine({ settings, cwd: '/', storeProblem: undefined, server: undefined, flags: {} })
  assert.deepEqual(
    inArea(findings, 'files').map(({ level, advice }) => [level, advice]),
    [
      ['warning', `chmod 600 ${join(folder, 'tokens/1')}`],
      ['warning', `chmod 600 ${cookie}`],
    ],
  )
})

test('reports a store that cannot be read', async () => {
  const { settings } = read({ argv: ['--store.url', 'postgres://u@127.0.0.1:1/x'] })
  const findings = await checkMachine({
    settings,
    cwd: '/',
    storeProblem: 'connect ECONNREFUSED',
    server: undefined,
    flags: {},
  })
  const [store] = inArea(findings, 'store')
  assert.deepEqual([store?.level, store?.message], ['problem', 'connect ECONNREFUSED'])
  assert.match(store?.advice ?? '', /Start the database server/)
})

const DOCUMENT_TLS = ['--ssl.enable', '--ssl.cert_file', `${TLS}/cert.pem`, '--ssl.key_file', `${TLS}/key.pem`]
const ENDPOINT_TLS = ['--server.endpoint', 'ssl://127.0.0.1:0', '--ssl.keyfile', `${TLS}/both.pem`]

const CERTIFICATES: Readonly<Record<string, readonly [argv: readonly string[], nowMs: number, expected: unknown]>> = {
  'a certificate that is valid for long': [DOCUMENT_TLS, EXPIRY_MS - 15 * DAY_MS, ['ok', 'none expires soon']],
  'a certificate that expires soon': [
    DOCUMENT_TLS,
    EXPIRY_MS - 13 * DAY_MS,
    ['warning', `ssl.cert_file: the certificate in ${TLS}/cert.pem expires on 2126-10-22`],
  ],
  'an expired certificate': [
    ENDPOINT_TLS,
    EXPIRY_MS + DAY_MS,
    ['problem', `ssl.keyfile: the certificate in ${TLS}/both.pem expired on 2126-10-22, and clients reject it`],
  ],
  'a certificate of the future': [
    ENDPOINT_TLS,
    Date.parse('2020-01-01'),
    ['problem', `ssl.keyfile: the certificate in ${TLS}/both.pem is not valid yet, and clients reject it`],
  ],
}

for (const [name, [argv, nowMs, expected]] of Object.entries(CERTIFICATES)) {
  test(`checks the dates of certificates: ${name}`, async () => {
    const [found] = inArea(await check([...MEMORY, ...argv], { nowMs }), 'certificates')
    assert.deepEqual([found?.level, found?.message], expected)
  })
}

const REJECTED = 'In CouchDB: [jwt_keys] hmac:_default = base64 of upstream.document-secret'

test('reports upstream servers that cannot be reached or reject the identity, and clocks that differ', async (t) => {
  const date = new Date(Date.now() + 120_000).toUTCString()
  const server = createServer((_, response) => response.writeHead(401, { date }).end())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const findings = await check([
    ...MEMORY,
    '--upstream.document',
    `${url}, http://127.0.0.1:1`,
    '--upstream.document-secret',
    'a-secret',
    '--services.shop',
    `/shop ${url}`,
  ])
  assert.deepEqual(
    inArea(findings, 'upstreams').map(({ message, advice }) => [message, advice?.replace(/;.*/, '')]),
    [
      [
        'upstream.document: http://127.0.0.1:1 cannot be reached: connect ECONNREFUSED 127.0.0.1:1',
        'Start that server, or correct upstream.document.',
      ],
      [`${url} identity rejected: GET /_session with a signed identity: status 401`, REJECTED],
    ],
  )
  const clock = inArea(findings, 'clock').map(({ level, message }) => `${level} ${message}`)
  assert.equal(clock.length, 2)
  assert.match(clock[0] ?? '', /^warning upstream\.document: the clock of http:\S+ differs by 1\d\d s$/)
  assert.match(clock[1] ?? '', /^warning services\.shop: /)
})

const MINUTE_MS = 60_000

test('compares the clock with the time of the store, of either engine', async () => {
  for (const [engine, createPlace] of [
    ['sqlite', createSqlitePlace],
    ['postgres', () => createPostgresPlace(postgres)],
  ] as const) {
    const place = await createPlace()
    const store = await openStore(place.url, { log: SILENT_LOG })
    const now = Date.now()
    await store.keepTime({ livedMs: now, agreedMs: now })
    await store.close()
    const find = async (ms: number, ...more: readonly string[]) => {
      const [finding] = inArea(await check(['--store.url', place.url, ...more], { nowMs: Date.now() + ms }), 'clock')
      return `${finding?.level} ${finding?.message}`
    }
    assert.equal(await find(0), 'ok agrees with the store')
    assert.match(
      await find(-10 * MINUTE_MS),
      /^problem the clock of this machine is (?:9|10) minutes behind the time of/,
    )
    assert.equal(await find(-10 * MINUTE_MS, '--store.max-clock-skew', '1200'), 'ok agrees with the store')
    const ahead = await find(125 * MINUTE_MS)
    if (engine === 'postgres')
      assert.match(ahead, /^problem .* is 2 hours ahead of the time of the store \(PostgreSQL's\)/)
    // with SQLite it cannot be told from a downtime
    else assert.match(ahead, /^warning nothing is deleted for now: the clock of this machine is 2 hours ahead of/)
    await place.remove()
  }
})

test('says that a clock could not be compared with the store', async () => {
  const { settings } = read({ argv: ['--store.url', 'postgres://u@127.0.0.1:1/x'] })
  const findings = await checkMachine({
    settings,
    cwd: '/',
    storeProblem: 'connect ECONNREFUSED',
    server: undefined,
    flags: {},
  })
  const [clock] = inArea(findings, 'clock')
  assert.deepEqual(
    [clock?.level, clock?.message],
    ['warning', 'it was not compared with the store, which could not be read: connect ECONNREFUSED'],
  )
})

test('names the users whose records are damaged, of either engine', async () => {
  for (const createPlace of [createSqlitePlace, () => createPostgresPlace(postgres)]) {
    const place = await createPlace()
    const find = async () => inArea(await check(['--store.url', place.url]), 'store')
    await withStore(place, async (store) => {
      for (const name of ['ada', 'bob', 'eve']) await createIn(store, name)
    })
    assert.equal((await find())[0]?.level, 'ok')
    await place.execute(`UPDATE cardea_users SET record = '{"isActive":tr' WHERE name <> 'bob'`)
    const [finding] = await find()
    assert.deepEqual([finding?.level, finding?.message], ['problem', 'records of users are damaged: "ada", "eve"'])
    assert.match(finding?.advice ?? '', /restore an earlier backup/)
    await place.remove()
  }
})

test('sends a test message where --send-to is given', async (t) => {
  const mailServer = await startMailServer(t)
  const mail = ['--mail.url', mailServer.url, '--mail.from', 'Shop <no-reply@shop.example>']
  const given = [...MEMORY, ...mail, '--console.public-url', 'https://db.example.com']
  const find = async (argv: readonly string[], sendTo?: string) =>
    inArea(await check(argv, { flags: { sendTo } }), 'mail').map(({ level, message }) => [level, message])
  assert.deepEqual(await find(given), [
    ['ok', 'the mail server, the texts of messages, and the names of users are in order'],
  ])
  assert.equal(mailServer.mails.length, 0)
  assert.deepEqual(await find(given, 'Ops@Example.com'), [
    ['ok', 'the mail server accepted a test message to Ops@example.com'],
  ])
  assert.equal((await mailServer.take('Ops@example.com')).subject, 'A test message of db.example.com')
  assert.deepEqual(await find(given, 'ops'), [['problem', '--send-to: expected an e-mail address']])
  const none = [['problem', '--send-to: mail.url is empty, so no message is sent']]
  assert.deepEqual(await find(MEMORY, 'ops@example.com'), none)
  await mailServer.close()
  assert.match(String(await find(given, 'ops@example.com')), /^problem,the test message was not sent: /)
})

test('counts names with @ where addresses sign in, and shows ten', async () => {
  const place = await createSqlitePlace()
  const given = ['--store.url', place.url, '--mail.sign-in', 'verified']
  await withStore(place, async (store) => {
    await createIn(store, 'ada')
  })
  const [before] = inArea(await check(given), 'mail')
  assert.equal(before?.level, 'ok')
  await withStore(place, async (store) => {
    for (const index of Array(11).keys()) await createIn(store, `user-${index}@example.com`)
  })
  const [finding] = inArea(await check(given), 'mail')
  assert.equal(finding?.level, 'warning')
  assert.match(finding?.message ?? '', /^11 users have names with @/)
  assert.equal(finding?.message.match(/example\.com/g)?.length, 10)
  await place.remove()
})

test('names users and administrators whose names differ only in case or form', async () => {
  const place = await createSqlitePlace()
  const find = async (...more: readonly string[]) => inArea(await check(['--store.url', place.url, ...more]), 'store')
  await withStore(place, async (store) => {
    for (const name of ['ada', 'Eve', 'bob']) await createIn(store, name)
  })
  assert.equal((await find('--admins.bob', 'a-password'))[0]?.level, 'ok', 'a user who is an administrator')
  const [finding] = await find('--admins.eve', 'a-password')
  assert.deepEqual(
    [finding?.level, finding?.message],
    [
      'warning',
      'names of users and administrators differ only in case or in the form of their characters: "Eve", "eve"',
    ],
  )
  await place.remove()
})

test('names the users with roles of their own that their identity provider can give', async (t) => {
  const { issuer } = await startProvider(t)
  const place = await createSqlitePlace()
  const link = { provider: 'staff', issuer, subject: '1', linkedAt: 1 }
  await withStore(place, async (store) => {
    const create = (name: string, roles: readonly string[], change: object = {}) => {
      const links = [{ ...link, subject: name, ...change }]
      const record = toNewUser({ name, roles, links }, NO_PASSWORD, undefined)
      return store.writeUser({ expected: 'absent', record })
    }
    await create('ada', ['finance', 'own'])
    await create('bob', ['own'], { roles: ['finance'] })
    await create('dan', ['finance'], { issuer: 'https://other.example.com' })
  })
  const provider = ['--provider:staff.audience', 'cardea', '--provider:staff.issuer', issuer]
  const map = ['--provider:staff.users', 'create', '--provider:staff.role-map', 'money=finance']
  const find = async (...more: readonly string[]) =>
    inArea(await check(['--store.url', place.url, ...provider, ...more]), 'providers')
  const [finding] = await find(...map)
  assert.deepEqual(
    [finding?.level, finding?.message],
    ['warning', 'users have roles of their own that their identity provider can give: "ada"'],
  )
  assert.equal((await find())[0]?.level, 'ok', 'a provider that gives no roles')
  await place.remove()
  assert.equal((await find(...map))[0]?.level, 'ok', 'before the first start')
})

test('explains why the keys of an identity provider cannot be used', async (t) => {
  const provider = await startProvider(t)
  const { issuer } = provider
  const explain = async (...more: readonly string[]): Promise<string> => {
    const options = ['--provider:staff.audience', 'cardea', '--provider:staff.issuer', issuer, ...more]
    let finding: AreaFinding | undefined
    // on a busy machine even this provider may take too long
    await waitUntil(async () => {
      finding = inArea(await check([...MEMORY, ...options]), 'providers')[0]
      return !finding?.message.includes('no complete response within')
    })
    return `${finding?.message} ${finding?.advice ?? ''}`
  }
  assert.match(await explain(), /keys of all can be fetched/)
  assert.match(await explain('--provider:staff.issuer', `${issuer}/`), /its issuer is .* Copy the issuer exactly/)
  assert.match(await explain('--provider:staff.algorithms', 'RS256'), /none of its keys is for RS256/)
  assert.match(await explain('--provider:staff.jwks-uri', `${issuer}/absent`), /the key set is not valid/)
  provider.state.isDown = true
  assert.match(await explain(), /Open http:\S+ from this machine, and compare issuer, discovery and jwks-uri/)
})
