import assert from 'node:assert/strict'
import { pbkdf2Sync } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { it, type TestContext } from 'node:test'
import { FREE_PORTS, IN_MEMORY, ROOT, run, type Started, signalWhileLoading, start, stop } from '../support/process.ts'
import { request, sendRaw } from '../support/raw.ts'
import { makeFolder } from '../support/scope.ts'
import { waitUntil } from '../support/wait.ts'

const basic = (name: string, password: string) =>
  `Authorization: Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`

const portOf = (url: string) => Number(new URL(url).port)

/** Some time of hashing wherever this runs: the time of a request that is under way. */
function makeSlowAdmin(): string {
  const begun = performance.now()
  pbkdf2Sync('pw', 'salt', 200_000, 32, 'sha256')
  const iterations = Math.ceil((200_000 * 300) / (performance.now() - begun))
  return `-pbkdf2-${pbkdf2Sync('pw', 'salt', iterations, 32, 'sha256').toString('hex')},salt,${iterations}`
}

const SLOW = makeSlowAdmin()

/** For a request that gets no response. */
const ENDLESS = `-pbkdf2-${'0'.repeat(64)},salt,2147483647`

function serve(t: TestContext, ...flags: string[]): Started {
  return start(t, ['serve', ...IN_MEMORY, ...flags])
}

/** When the server logged this, in milliseconds. */
function timeOf({ stderr }: Started, message: string): number {
  const line =
    stderr()
      .split('\n')
      .find((text) => text.includes(`"msg":"${message}"`)) ?? assert.fail(stderr())
  return JSON.parse(line).time
}

/** Sends a request, and another behind it: when that is answered the first is under way. */
async function sendSlowly(port: number): Promise<Promise<Awaited<ReturnType<typeof sendRaw>>>[]> {
  const slow = sendRaw(port, request('/_session', basic('slow', 'pw')), { untilClosed: true, waitMs: 60_000 })
  await sendRaw(port, request('/_up'))
  return [slow]
}

const isRefused = async (port: number): Promise<boolean> => {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return false
  } catch {
    return true
  } finally {
    socket.destroy()
  }
}

const BODY = JSON.stringify({ name: 'ada', password: 'pw' })

/** A request that is under way until the test sends its body: the server has asked for it. */
async function openSignIn(t: TestContext, port: number) {
  const socket = connect(port, '127.0.0.1').setEncoding('utf8')
  t.after(() => socket.destroy())
  const lines = ['Content-Type: application/json', `Content-Length: ${BODY.length}`, 'Expect: 100-continue']
  socket.write(['POST /_session HTTP/1.1', 'Host: localhost', ...lines, '', ''].join('\r\n'))
  const [asked] = await once(socket, 'data')
  assert.match(asked, /^HTTP\/1\.1 100 /)
  return {
    async finish(): Promise<string> {
      socket.write(BODY)
      return (await socket.toArray()).join('')
    },
  }
}

it('SIGTERM lets running requests finish and accepts no new ones', async (t) => {
  const cardea = serve(t, '--admins.ada', 'pw')
  const doors = await cardea.doors()
  const signIn = await openSignIn(t, portOf(doors.document))
  cardea.child.kill('SIGTERM')
  await cardea.says(/"msg":"stopping"/)
  for (const door of [doors.document, doors.multiModel]) await waitUntil(() => isRefused(portOf(door)))
  assert.doesNotMatch(cardea.stderr(), /"msg":"stopped"/)
  const answer = await signIn.finish()
  assert.match(answer, /^HTTP\/1\.1 200 /)
  assert.match(answer, /^connection: close$/im)
  assert.deepEqual(await cardea.ended, { code: 0, signal: null })
  assert.match(cardea.stderr(), /"msg":"stopped"/)
})

it('SIGINT stops like SIGTERM; several at once count as one', async (t) => {
  const cardea = serve(t, '--admins.slow', SLOW)
  const [slow] = await sendSlowly(portOf((await cardea.doors()).document))
  for (const signal of ['SIGINT', 'SIGINT', 'SIGTERM'] as const) cardea.child.kill(signal)
  assert.equal((await slow)?.status, 200)
  assert.deepEqual(await cardea.ended, { code: 0, signal: null })
})

it('idle connections do not delay a stop', async (t) => {
  const keyfile = join(ROOT, 'test', 'fixtures', 'tls', 'both.pem')
  const tls = ['--server.endpoint', 'ssl://127.0.0.1:0', '--ssl.keyfile', keyfile]
  const cardea = serve(t, '--admins.ada', 'pw', '--door.stop-timeout', '1', ...tls)
  const { document, multiModel } = await cardea.doors()
  const open = async (url: string, bytes: string): Promise<Socket> => {
    const socket = connect(portOf(url), '127.0.0.1')
    t.after(() => socket.destroy())
    await once(socket, 'connect')
    socket.on('error', () => {})
    socket.write(bytes)
    return socket
  }
  for (const bytes of ['', 'GET /']) await open(document, bytes)
  await open(multiModel, '') // and no handshake ever
  await once(await open(document, request('/_up')), 'data')
  await stop(cardea)
})

it('a stop waits no longer than door.stop-timeout for running requests', async (t) => {
  const cardea = serve(t, '--admins.ada', 'pw', '--door.stop-timeout', '0.1', '--door.body-timeout', '600')
  const port = portOf((await cardea.doors()).document)
  // A refused body that never comes: the door lingers for it.
  const slow = connect(port, '127.0.0.1')
  t.after(() => slow.destroy())
  slow.write('POST /nowhere HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n')
  await once(slow, 'data')
  await openSignIn(t, port)
  await stop(cardea)
  const [stopping = 0, stopped = 0] = ['stopping', 'stopped'].map((message) => timeOf(cardea, message))
  assert.ok(stopped - stopping < 60_000, 'the body may take ten minutes')
})

it('work that cannot be interrupted does not delay a stop', async (t) => {
  const cardea = serve(t, '--admins.slow', ENDLESS, '--door.stop-timeout', '0.1')
  const [never] = await sendSlowly(portOf((await cardea.doors()).document))
  cardea.child.kill('SIGTERM')
  await cardea.says(/"msg":"stopped"/)
  assert.deepEqual(await cardea.ended, { code: null, signal: 'SIGTERM' })
  assert.equal((await never)?.status, 0)
})

it('a second signal ends the process at once', async (t) => {
  const cardea = serve(t, '--admins.slow', ENDLESS, '--door.stop-timeout', '600')
  await sendSlowly(portOf((await cardea.doors()).document))
  cardea.child.kill('SIGTERM')
  await cardea.says(/"msg":"stopping"/)
  // Those within half a second of the first are taken for the same: one every turn, until one is late enough.
  const again = setInterval(() => cardea.child.kill('SIGINT'), 50)
  t.after(() => clearInterval(again))
  assert.deepEqual(await cardea.ended, { code: null, signal: 'SIGINT' })
  assert.doesNotMatch(cardea.stderr(), /"msg":"stopped"/)
})

for (const command of ['serve', 'start']) {
  it(`a signal while ${command} is loading ends it with success and leaves nothing`, async (t) => {
    const cwd = makeFolder(t)
    const args = command === 'serve' ? ['--admins.ada', 'pw', ...FREE_PORTS] : FREE_PORTS
    const cardea = start(t, [command, ...args], { cwd, env: signalWhileLoading('SIGTERM') })
    assert.deepEqual(await cardea.ended, { code: 0, signal: null }, cardea.stderr())
    assert.deepEqual(readdirSync(cwd), [])
  })
}

it('a command other than serve is ended by signals', async (t) => {
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) {
    const ended = await run(t, ['user', 'show', 'start', ...IN_MEMORY], { env: signalWhileLoading(signal) })
    assert.ok(ended.signal === signal || ended.code !== 0, `${signal}: ${ended.code}`)
  }
})

it('a signal during the start ends it with success, before it accepts requests', async (t) => {
  const cardea = serve(t, '--admins.ada', 'pw', '--chttpd_auth.iterations', '3000000')
  await cardea.says(/"msg":"store migrated"/)
  cardea.child.kill('SIGTERM')
  assert.deepEqual(await cardea.ended, { code: 0, signal: null })
  assert.doesNotMatch(cardea.stderr(), /"msg":"listening"/)
})
