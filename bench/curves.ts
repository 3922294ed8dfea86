// Time of `GET /_session` while there is more and more of one thing, in one process as in gateway-handler.ts. Sizes:
// batches of warm-up, most ended sessions, most open feeds.
import { createHmac, randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createCardea } from '../src/index.ts'
import { ratio } from './figures.ts'
import { IdleSocket, quantile, SILENT, serve, toOptions } from './gateway-handler.ts'
import { withFolder } from './support/folder.ts'
import { signIn, toBasic } from './support/gateway.ts'
import { renderNumber } from './support/measure.ts'

const BATCH = 32
const USER = { name: 'ada', password: 'the-password-of-ada' }
const LIFETIME_SECONDS = 86_400

const toExpiry = () => Math.floor(Date.now() / 1000) + LIFETIME_SECONDS
const secretOf = (index) => `secret-${index}-of-tokens-for-benches-only`
const userHeaders = () => ['Authorization', `Basic ${Buffer.from(`${USER.name}:${USER.password}`).toString('base64')}`]

/** A token that was never seen, signed with the last of `count` secrets. */
function signNew(count) {
  const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = {
    iss: 'arangodb',
    preferred_username: USER.name,
    exp: toExpiry(),
    nonce: randomBytes(9).toString('hex'),
  }
  const signed = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claims)}`
  return `${signed}.${createHmac('sha256', secretOf(count - 1))
    .update(signed)
    .digest('base64url')}`
}

function writeSecrets(folder, count) {
  const secrets = join(folder, 'secrets')
  mkdirSync(secrets)
  for (let index = 0; index < count; index += 1)
    writeFileSync(join(secrets, String(index).padStart(2, '0')), secretOf(index), { mode: 0o600 })
  return { server: { endpoint: 'tcp://127.0.0.1:0', 'jwt-secret-folder': secrets } }
}

/** Sessions of many users that ended before they expired. */
function endSessions({ folder }, count) {
  const store = new DatabaseSync(join(folder, 'cardea.db'))
  const put = store.prepare('INSERT INTO cardea_ended_sessions (id, name, expires_at, sequence) VALUES (?, ?, ?, ?)')
  store.exec('BEGIN')
  for (let index = 0; index < count; index += 1)
    put.run(randomBytes(12).toString('base64url'), `user-${index % 10_000}`, toExpiry(), index + 1)
  store.exec('COMMIT')
  store.close()
}

const openFeeds = ({ handle }, count) => {
  const headers = ['Authorization', toBasic()]
  const path = '/_users/_changes?feed=continuous&heartbeat=3600000'
  for (let index = 0; index < count; index += 1) void serve({ handle, path, headers }, new IdleSocket())
}

const rolesOf = (count) => Array.from({ length: count }, (_, index) => `role-${index}`)

interface Curve {
  readonly sizes: readonly number[]
  readonly door?: string
  readonly path?: string
  toOptions?(folder: string, size: number): object
  /** Before the server that is measured opens the store. */
  fill?(cardea, size: number): unknown
  prepare?(cardea, size: number): unknown
  /** Whether each request has headers of its own. Otherwise many rounds share them. */
  readonly isEachNew?: true
  /** Called before the time is taken. */
  createHeaders(cardea, size: number): readonly string[] | Promise<readonly string[]>
}

const CURVES = (ended: number, feeds: number): Readonly<Record<string, Curve>> => ({
  'passive secrets; new token of the last one': {
    sizes: [1, 8, 32],
    door: 'multi-model',
    path: `/_api/user/${USER.name}`,
    toOptions: writeSecrets,
    isEachNew: true,
    createHeaders: (_cardea, size) => ['Authorization', `Bearer ${signNew(size)}`],
  },
  'ended sessions; cookie': {
    sizes: [0, ended / 1000, ended],
    fill: endSessions,
    createHeaders: async ({ url }) => ['Cookie', await signIn(url)],
  },
  'roles of the user; Basic': {
    sizes: [1, 30, 1000],
    prepare: ({ users }, size) => users.update(USER.name, { roles: rolesOf(size) }),
    createHeaders: userHeaders,
  },
  'open feeds; Basic': { sizes: [0, feeds / 10, feeds], prepare: openFeeds, createHeaders: userHeaders },
})

/** Opens a server of one size. */
async function open(folder: string, curve: Curve, size: number, clean: AsyncDisposableStack) {
  const own = join(folder, String(size))
  mkdirSync(own)
  const options = { ...toOptions(own), upstream: {}, ...curve.toOptions?.(own, size) }
  const start = () => createCardea({ log: SILENT, options })
  if (curve.fill) {
    await (await start()).close()
    await curve.fill({ folder: own }, size)
  }
  const cardea = clean.adopt(await start(), (each) => each.close())
  await cardea.users.create(USER)
  const { document } = await cardea.listen()
  const handle = (request, response) => cardea.handle(request, response, curve.door as 'document')
  const server = { users: cardea.users, handle, url: document?.[0] }
  await curve.prepare?.(server, size)
  return { size, handle, path: curve.path ?? '/_session', createHeaders: () => curve.createHeaders(server, size) }
}

async function measureBatch({ handle, path, headers }, sockets) {
  const startMs = performance.now()
  const statuses = await Promise.all(sockets.map((socket, i) => serve({ handle, path, headers: headers[i] }, socket)))
  if (statuses.some((status) => status !== 200)) throw new Error(`${path}: ${statuses.join(' ')}`)
  return ((performance.now() - startMs) * 1000) / sockets.length
}

/** A cookie older than a minute would be renewed by every response. */
const ROUNDS_OF_A_SESSION = 100

/** The headers of each connection. */
async function createAll({ createHeaders }, isEachNew) {
  const first = await createHeaders()
  return Promise.all(Array.from({ length: BATCH }, () => (isEachNew ? createHeaders() : first)))
}

/** The lowest tenth of each size, in microseconds. */
const measureCurve = (curve: Curve, rounds: number, warmBatches: number) =>
  withFolder(async (folder) => {
    await using clean = new AsyncDisposableStack()
    const points: (Awaited<ReturnType<typeof open>> & { headers: (readonly string[])[]; readonly values: number[] })[] =
      []
    for (const size of curve.sizes)
      points.push({ ...(await open(folder, curve, size, clean)), headers: [], values: [] })
    const sockets = Array.from({ length: BATCH }, () => new IdleSocket())
    for (let round = -warmBatches; round < rounds; round += 1)
      for (const point of points) {
        if (curve.isEachNew || round % ROUNDS_OF_A_SESSION === 0 || round === -warmBatches)
          point.headers = await createAll(point, curve.isEachNew)
        const us = await measureBatch(point, sockets)
        if (round >= 0) point.values.push(us)
      }
    return points.map(({ size, values }) => ({ size, us: quantile(values, 0.1) }))
  })

export const bench = {
  title: 'Curves',
  about:
    'Time of `GET /_session` in one process, without sockets, while there is more and more of one thing: the lowest tenth\n' +
    'of batches that alternate between the sizes. Of passive secrets it is a request of the multi-model door, whose token\n' +
    'may have to be compared with each of them. There is no goal.',
  runs: 300,
  async run(rounds, [warmBatches = 150, ended = 1_000_000, feeds = 10_000] = []) {
    const rows: string[][] = []
    for (const [name, curve] of Object.entries(CURVES(ended, feeds))) {
      const points = await measureCurve(curve, rounds, warmBatches)
      const [{ us: least } = { us: 1 }] = points
      for (const { size, us } of points)
        rows.push([`${name}: ${renderNumber(size)}`, `${us.toFixed(1)} µs`, ratio(us / least)])
    }
    return { columns: ['', 'lowest tenth', 'of the smallest'], rows, isGoalMet: true }
  },
}
