// Two workers, which are processes: what clients may do is counted by both together.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { FREE_PORTS, start } from '../support/process.ts'
import { basic, createAsk, send } from '../support/request.ts'
import { createSharedScope, makeFolder } from '../support/scope.ts'
import { waitUntil } from '../support/wait.ts'

const ADMIN = basic('anna', 'secret')
const SETTINGS = `[admins]
anna = secret
[chttpd]
trusted_proxies = 192.0.2.1
[chttpd_auth]
iterations = 10
allow_sign_up = true
[chttpd_auth_lockout]
threshold = 5
[auth]
peer-failures = 0
account-failures = 0
peer-sign-ups-per-hour = 3
[door]
max-connections-per-client = 20
`

const scope = createSharedScope()
let document = ''

before(async () => {
  const folder = makeFolder(scope)
  writeFileSync(join(folder, 'local.ini'), SETTINGS, { mode: 0o600 })
  const cardea = start(scope, ['serve', ...FREE_PORTS, '--config', folder, '--server.workers', '2'], { cwd: folder })
  document = (await cardea.doors()).document
  const ask = createAsk(document)
  await waitUntil(async () => /^cardea_workers 2$/m.test((await ask('GET', '/_cardea/metrics', { as: ADMIN })).body))
  for (const name of ['ada', 'bob'])
    assert.equal(
      (await ask('POST', '/_cardea/api/users', { as: ADMIN, body: { name, password: 'right' } })).status,
      200,
    )
})

/** On a connection of its own, so that the workers get them in turn. */
const guess = async (name: string, password: string): Promise<number> =>
  (await send(document, { path: '/_session', headers: { Authorization: basic(name, password), Connection: 'close' } }))
    .status

const countOf = (statuses: readonly number[], status: number) => statuses.filter((each) => each === status).length

describe('two workers', () => {
  it('together give as many parallel guesses as one', async () => {
    const statuses = await Promise.all(Array.from({ length: 16 }, (_, at) => guess('ada', `wrong ${at}`)))
    assert.equal(countOf(statuses, 401), 5, `${statuses}`)
    assert.equal(countOf(statuses, 403), 11, `${statuses}`)
    assert.equal(await guess('ada', 'right'), 403)
  })

  it('together give as many guesses after each other as one', async () => {
    const statuses: number[] = []
    for (let turn = 0; turn < 7; turn += 1) statuses.push(await guess('bob', `wrong ${turn}`))
    assert.deepEqual(statuses, [401, 401, 401, 401, 401, 403, 403])
    const lifted = await createAsk(document)('POST', '/_cardea/api/users/bob/unlock', { as: ADMIN })
    assert.ok(lifted.status < 300, lifted.body)
    for (let turn = 0; turn < 4; turn += 1) assert.equal(await guess('bob', 'right'), 200)
  })

  it('together let as many clients sign up as one', async () => {
    const signUp = (at: number) =>
      send(document, {
        method: 'PUT',
        path: `/_users/org.couchdb.user:new${at}`,
        headers: { 'Content-Type': 'application/json', Connection: 'close' },
        body: JSON.stringify({ name: `new${at}`, password: 'a password', roles: [], type: 'user' }),
      })
    const statuses = (await Promise.all(Array.from({ length: 10 }, (_, at) => signUp(at)))).map(({ status }) => status)
    assert.equal(countOf(statuses, 201), 3, `${statuses}`)
    assert.equal(countOf(statuses, 429), 7, `${statuses}`)
  })

  it('together accept as many connections of one client as one', async () => {
    const { hostname, port } = new URL(document)
    const sockets: Socket[] = []
    const ask = async (socket: Socket) => {
      socket.write('GET /_up HTTP/1.1\r\nHost: localhost\r\n\r\n')
      return Number(/^HTTP\/1.1 (\d+)/.exec(String((await once(socket, 'data'))[0]))?.[1])
    }
    const statuses: number[] = []
    try {
      for (let at = 0; at < 30; at += 1) {
        const socket = connect(Number(port), hostname)
        sockets.push(socket)
        statuses.push(await ask(socket))
      }
    } finally {
      for (const socket of sockets) socket.destroy()
    }
    assert.equal(countOf(statuses, 200), 20, `${statuses}`)
  })
})
