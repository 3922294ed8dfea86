// Every listener of a server is served by both of its workers, with the rules and limits of one process.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs'
import { type ClientHttp2Session, connect as connectHttp2, constants } from 'node:http2'
import { request as httpsRequest } from 'node:https'
import { connect, type NetConnectOpts, type Socket } from 'node:net'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { type Certificate, createAuthority } from '../support/certificates.ts'
import { run } from '../support/process.ts'
import { createAsk } from '../support/request.ts'
import { createSharedScope } from '../support/scope.ts'
import { waitUntil } from '../support/wait.ts'
import { ADMIN, addUser, api, type Doors, HELD, listWorkers, makeConfiguration, serve } from '../support/workers.ts'

const IS_LONG = process.env['TEST_LONG'] !== undefined
/** At each listener: the workers get connections in turn. */
const CONNECTIONS = IS_LONG ? 10 : 4
const MAX_PER_CLIENT = 10
const LOGGED_REQUESTS = IS_LONG ? 20_000 : 400

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url))
const serverCa = readFileSync(fixture('cert.pem'))
const scope = createSharedScope()
let doors: Doors
let folder = ''
let held: readonly (() => void)[]
let seen: Awaited<ReturnType<typeof makeConfiguration>>['seen']
let addresses: { readonly document: string[]; readonly admin: string[]; readonly metrics: string[] }
let ada: Certificate
let stranger: Certificate
/** Another one of the server. */
let renewed: Certificate

function writeCertificate({ cert, key }: Certificate): void {
  writeFileSync(join(folder, 'key.pem'), key, { mode: 0o600 })
  writeFileSync(join(folder, 'cert.pem'), cert)
}

before(async () => {
  ;({ folder, held, seen } = await makeConfiguration(scope))
  const [staff, other] = ['staff', 'other'].map((name) => createAuthority(folder, name))
  ada = staff?.issue({ subject: '/CN=ada' }) ?? assert.fail()
  stranger = other?.issue({ subject: '/CN=ada' }) ?? assert.fail()
  writeFileSync(join(folder, 'client-ca.pem'), staff?.cert ?? '')
  writeCertificate({ cert: String(serverCa), key: readFileSync(fixture('key.pem'), 'utf8') })
  renewed = staff?.issue({ subject: '/CN=renewed', usage: 'serverAuth', address: '127.0.0.1' }) ?? assert.fail()
  const options = {
    'ssl.enable': 'true',
    'ssl.port': '0',
    'ssl.cert_file': join(folder, 'cert.pem'),
    'ssl.key_file': join(folder, 'key.pem'),
    'ssl.client-ca': join(folder, 'client-ca.pem'),
    'server.endpoint': `tcp://127.0.0.1:0,unix://${join(folder, 'door.sock')}`,
    'admin.endpoint': `tcp://127.0.0.1:0,unix://${join(folder, 'admin.sock')}`,
    'metrics.endpoint': 'tcp://127.0.0.1:0',
    'door.proxy-protocol': 'multi-model',
    'door.max-connections-per-client': `${MAX_PER_CLIENT}`,
    'log.access': 'true',
  }
  doors = await serve(scope, folder, ...Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]))
  addresses = JSON.parse((await doors.cardea.says(/^\{.*"msg":"listening"\}$/m))[0])
  await addUser(doors, 'ada', { grants: [{ database: '_system', level: 'rw' }] })
})

const toTcp = (url = ''): NetConnectOpts => ({ host: '127.0.0.1', port: Number(new URL(url).port) })
const toUnix = (name: string): NetConnectOpts => ({ path: join(folder, name) })
const toText = (path: string, ...headers: readonly string[]): string =>
  [`GET ${path} HTTP/1.1`, 'Host: localhost', `Authorization: ${ADMIN}`, ...headers, '', ''].join('\r\n')
const toProxied = (address: string): string => `PROXY TCP4 ${address} 192.0.2.1 56324 443\r\n`

/** The status of the response. The connection stays open. */
async function askOn(socket: Socket, text: string): Promise<number> {
  socket.write(text)
  const [chunk] = await once(socket, 'data')
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(String(chunk))?.[1])
}

/** The open sockets of each worker. */
const listSockets = (): readonly ReadonlySet<string>[] =>
  listWorkers(doors).map((pid) => {
    const links = readdirSync(`/proc/${pid}/fd`).map((fd) => {
      try {
        return readlinkSync(`/proc/${pid}/fd/${fd}`)
      } catch {
        return '' // closed meanwhile
      }
    })
    return new Set(links.filter((link) => link.startsWith('socket:')))
  })

interface Listener {
  readonly name: string
  to(): NetConnectOpts
  readonly text: string
}

const LISTENERS: readonly Listener[] = [
  { name: 'the document door', to: () => toTcp(addresses.document[0]), text: toText('/_session') },
  {
    name: 'the multi-model door behind the PROXY protocol',
    to: () => toTcp(doors.multiModel),
    text: toProxied('203.0.113.7') + toText('/_api/version'),
  },
  {
    name: 'a Unix socket behind the PROXY protocol',
    to: () => toUnix('door.sock'),
    text: toProxied('203.0.113.7') + toText('/_api/version'),
  },
  { name: 'admin.endpoint', to: () => toTcp(addresses.admin[0]), text: toText('/_cardea/api/health') },
  { name: 'admin.endpoint, a Unix socket', to: () => toUnix('admin.sock'), text: toText('/_cardea/api/health') },
  { name: 'metrics.endpoint', to: () => toTcp(addresses.metrics[0]), text: toText('/metrics') },
  { name: 'the control socket', to: () => toUnix('store.db.sock'), text: toText('/_cardea/api/health') },
]

describe('both workers serve', () => {
  for (const { name, to, text } of LISTENERS)
    it(name, async () => {
      const earlier = listSockets()
      const sockets = Array.from({ length: CONNECTIONS }, () => connect(to()))
      try {
        for (const socket of sockets) assert.equal(await askOn(socket, text), 200)
        for (const [at, now] of listSockets().entries())
          assert.ok(now.difference(earlier[at] ?? now).size > 0, `worker ${at + 1}`)
      } finally {
        for (const socket of sockets) socket.destroy()
      }
    })

  it('TLS with client certificates', async () => {
    const ask = async (certificate?: Certificate) => {
      const options = { ca: serverCa, agent: false, ...certificate }
      const request = httpsRequest(`${addresses.document[1]}/_session`, options).end()
      const [response] = await once(request, 'response')
      const text = await response.setEncoding('utf8').reduce((all: string, part: string) => all + part, '')
      return [response.statusCode, JSON.parse(text).userCtx?.name]
    }
    for (let turn = 0; turn < CONNECTIONS; turn += 1) {
      assert.deepEqual(await ask(ada), [200, 'ada'])
      assert.deepEqual(await ask(), [200, null])
      assert.equal((await ask(stranger))[0], 401)
    }
  })

  it('a certificate that a reload has brought, and no other one', async () => {
    const before = { cert: String(serverCa), key: readFileSync(fixture('key.pem'), 'utf8') }
    writeCertificate(renewed)
    assert.equal((await api(doors, 'POST', '/reload', {})).applied, true)
    const { port } = new URL(addresses.document[1] ?? '')
    for (let turn = 0; turn < CONNECTIONS; turn += 1) {
      const socket = connectTls({ host: '127.0.0.1', port: Number(port), rejectUnauthorized: false })
      await once(socket, 'secureConnect')
      assert.equal(socket.getPeerCertificate().subject.CN, 'renewed')
      socket.destroy()
    }
    writeCertificate(before)
    assert.equal((await api(doors, 'POST', '/reload', {})).applied, true)
  })
})

describe('with two workers', () => {
  it('only the owner may open the control socket, and the socket of a door is for its group too', () => {
    const modes = ['store.db.sock', 'door.sock'].map((name) => statSync(join(folder, name)).mode & 0o777)
    assert.deepEqual(modes, [0o600, 0o660])
  })

  it('commands reach the server through the control socket', async () => {
    const config = ['--config', join(folder, 'a.ini'), '--store.url', `sqlite:${join(folder, 'store.db')}`]
    const added = await run(scope, ['user', 'add', 'by-command', '--password-stdin', ...config], { input: 'one' })
    assert.equal(added.code, 0, added.stderr)
    for (let turn = 0; turn < CONNECTIONS; turn += 1)
      assert.equal((await createAsk(doors.document)('GET', '/_session', { as: 'by-command:one' })).status, 200)
  })

  it('the address in the header of the PROXY protocol is that of the client, who has one limit', async () => {
    const sockets: Socket[] = []
    const statuses: number[] = []
    const earlier = seen.length
    try {
      for (let at = 0; at < 2 * MAX_PER_CLIENT - 2; at += 1) {
        const socket = connect(at % 2 === 0 ? toTcp(doors.multiModel) : toUnix('door.sock'))
        sockets.push(socket)
        statuses.push(await askOn(socket, toProxied('198.51.100.4') + toText('/_api/collection')))
      }
    } finally {
      for (const socket of sockets) socket.destroy()
    }
    assert.equal(statuses.filter((status) => status === 200).length, MAX_PER_CLIENT, `${statuses}`)
    const forwarded = seen.slice(earlier).map(({ header }) => header('x-forwarded-for'))
    assert.deepEqual(forwarded, Array(MAX_PER_CLIENT).fill('198.51.100.4'))
  })

  it('requests over HTTP/2 of one client have one limit', async () => {
    const sessions = Array.from({ length: 2 }, () => connectHttp2(doors.document).on('error', () => {}))
    const headers = { ':path': HELD, authorization: ADMIN, 'x-forwarded-for': '198.51.100.5' }
    const earlier = held.length
    const statuses: number[] = []
    for (let at = 0; at < 2 * MAX_PER_CLIENT; at += 1) {
      const stream = sessions[at % 2]?.request(headers).resume() ?? assert.fail()
      stream.on('error', () => {})
      let isRefused = false
      stream.once('response', (head) => {
        isRefused = true
        statuses.push(head[':status'] ?? 0)
      })
      const before = held.length
      await waitUntil(() => held.length > before || isRefused)
    }
    assert.equal(held.length - earlier, MAX_PER_CLIENT, `${statuses}`)
    assert.deepEqual(statuses, Array(MAX_PER_CLIENT).fill(503))
    for (const session of sessions) session.destroy()
    for (const respond of held.slice(earlier)) respond()
  })

  it('connections of HTTP/2 that reset streams again and again are ended by each of them', async () => {
    await Promise.all(Array.from({ length: 2 }, () => resetMany(connectHttp2(doors.document))))
    for (let turn = 0; turn < CONNECTIONS; turn += 1)
      assert.equal((await createAsk(doors.document)('GET', '/_session')).status, 200)
  })

  it('metrics.endpoint shows the sums of both', async () => {
    const count = async () => {
      const text = await (await fetch(`${addresses.metrics[0]}/metrics`, { headers: { connection: 'close' } })).text()
      const rows = [...text.matchAll(/^cardea_requests_total\{.*route="\/_up".*\} (\d+)$/gm)]
      return rows.reduce((sum, [, value]) => sum + Number(value), 0)
    }
    const earlier = await count()
    for (let turn = 0; turn < CONNECTIONS; turn += 1) await createAsk(doors.document)('GET', '/_up')
    // each of them renders the metrics once a second
    await waitUntil(async () => (await Promise.all([count(), count()])).every((sum) => sum === earlier + CONNECTIONS))
  })

  it('lines of the log never mix, when both write all the time', async () => {
    const long = 'x'.repeat(12_000)
    const CLIENTS = 8
    const sendMany = async (client: number) => {
      const socket = connect(toTcp(doors.document))
      for (let at = 0; at < LOGGED_REQUESTS / CLIENTS; at += 1)
        await askOn(socket, toText(`/_session/${client}/${at}/${long}`))
      socket.destroy()
    }
    await Promise.all(Array.from({ length: CLIENTS }, (_, client) => sendMany(client)))
    const lines = () => doors.cardea.stderr().trimEnd().split('\n')
    await waitUntil(() => lines().filter((line) => line.includes(long.slice(0, 100))).length >= LOGGED_REQUESTS)
    for (const line of lines()) assert.equal(typeof JSON.parse(line).msg, 'string')
  })
})

/** Resolves when the server has ended the connection because of it. */
async function resetMany(session: ClientHttp2Session): Promise<void> {
  let isEnded = false
  const end = () => {
    isEnded = true
  }
  session.on('error', end).on('close', end)
  while (!isEnded) {
    for (let at = 0; at < 50; at += 1) {
      const stream = session.request({ ':path': '/_session' }).on('error', () => {})
      stream.close(constants.NGHTTP2_CANCEL)
    }
    await nextTurn()
  }
}
