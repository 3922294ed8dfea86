// What is broken while the load runs. Each row breaks one thing, waits, and repairs it.
import { rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { ask, basic } from './ask.ts'
import { ADMIN, CLOCK_SHIFTS } from './testbed.ts'

const AS_ADMIN = { Authorization: basic(ADMIN) }

/** A second node is never killed: its memory is measured. */
async function killNode({ nodes: [node] }, random) {
  await node.kill()
  await pause(random.between(0, 500))
  await startWithRetries(node)
}

/** A start fails while PostgreSQL is not available. */
async function startWithRetries(node) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await node.start()
    } catch (error) {
      if (attempt >= 20) throw error
      await pause(500)
    }
  }
}

async function loseStore({ postgres }, random) {
  await postgres.crash()
  await pause(random.between(200, 5000))
  await postgres.restart()
}

async function loseUpstream({ upstream }, random) {
  await upstream.stop()
  await pause(random.between(100, 2000))
  await upstream.start()
}

async function reloadAll({ nodes }) {
  for (const node of nodes) node.hangUp()
}

async function replaceCookieSecret(testbed, random) {
  const body = `a secret of cookies ${random.below(2 ** 32)}`
  const path = '/_node/_local/_config/chttpd_auth/secret'
  // counted before the request: from now on, cookies of the secret before the last one are not judged
  testbed.rotations = { ...testbed.rotations, cookies: testbed.rotations.cookies + 1 }
  await ask(testbed.nodes.at(-1).document, { method: 'PUT', path, headers: AS_ADMIN, body })
}

const toKeyFile = (number) => `${String(number).padStart(6, '0')}.key`

/** The first file signs. The new file comes last, so it only verifies until the one before it is removed. */
async function rotateTokenSecret(testbed, random) {
  const { retired } = testbed.rotations
  testbed.rotations = { ...testbed.rotations, isUnderWay: true }
  const secret = `a secret of tokens, long enough ${random.below(2 ** 32)}`
  writeFileSync(join(testbed.keys, toKeyFile(retired + 1)), secret, { mode: 0o600 })
  await loadFiles(testbed)
  rmSync(join(testbed.keys, toKeyFile(retired)))
  await loadFiles(testbed)
  testbed.rotations = { ...testbed.rotations, retired: retired + 1, isUnderWay: false }
}

/** Reloads every node, and waits until each has confirmed it. Tokens of a removed secret must then be rejected. */
async function loadFiles({ nodes }) {
  for (const node of nodes) {
    for (const deadline = Date.now() + MAX_RELOAD_MS; ; ) {
      const { json } = await ask(node.document, {
        method: 'POST',
        path: '/_cardea/api/reload',
        headers: AS_ADMIN,
        body: {},
      })
      if (json?.applied === true || json?.isApplied === true) break
      if (Date.now() > deadline) throw new Error(`${node.name} did not reload: ${JSON.stringify(json)}`)
      await pause(200)
    }
  }
}

const MAX_RELOAD_MS = 60_000

/** Requests go on meanwhile. Refused where a node has no workers, or is not running. */
async function replaceWorkers({ nodes }) {
  const request = { method: 'POST', path: '/_cardea/api/reload', headers: AS_ADMIN, body: { rolling: true } }
  for (const { document } of nodes) await ask(document, request)
}

async function openSlowClients({ nodes }, random) {
  const sockets = nodes.flatMap(({ document, multiModel }) =>
    [document, multiModel].flatMap((url) => Array.from({ length: 10 }, () => connectTo(url))),
  )
  for (let turn = 0; turn < 5; turn += 1) {
    for (const socket of sockets) socket.write(turn === 0 ? 'POST /_session HTTP/1.1\r\nHost: a\r\n' : 'X')
    await pause(random.between(50, 300))
  }
  for (const socket of sockets) socket.destroy()
}

const connectTo = (url) => connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {})

const GARBAGE = [
  '\x00\x01\x02',
  'GET / HTTP/9.9\r\n\r\n',
  'POST /_session HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf',
  'GET /_session HTTP/1.1\r\nHost: a\r\nCookie: AuthSession=\xff\xfe\r\n\r\n',
  `GET /${'x'.repeat(70_000)} HTTP/1.1\r\n\r\n`,
]

async function openBrokenClients({ nodes }, random) {
  for (let turn = 0; turn < 20; turn += 1) {
    const { document, multiModel } = random.pick(nodes)
    const socket = connectTo(random.pick([document, multiModel]))
    socket.write(random.pick(GARBAGE), 'latin1')
    await pause(20)
    if (random.below(2) === 0) socket.resetAndDestroy()
    else socket.destroy()
  }
}

/** Of a node that runs, or that is started with another clock. */
async function shiftClock({ nodes }, random) {
  const node = random.pick(nodes)
  node.shiftClock(random.pick(CLOCK_SHIFTS))
  await pause(random.between(100, 3000))
}

/** `engine`: only with this store. */
const FAULTS = [
  { name: 'node killed and restarted', run: killNode },
  { name: 'PostgreSQL killed and restarted', run: loseStore, engine: 'postgres' },
  { name: 'upstream server stopped and started', run: loseUpstream },
  { name: 'configuration reloaded', run: reloadAll },
  { name: 'worker threads replaced', run: replaceWorkers, needsWorkers: true },
  { name: 'secret of cookies replaced', run: replaceCookieSecret },
  { name: 'secret of tokens rotated', run: rotateTokenSecret },
  { name: 'slow clients', run: openSlowClients },
  { name: 'broken clients', run: openBrokenClients },
  { name: 'clock of a node set', run: shiftClock, needsClocks: true },
]

/** With clocks that differ, every other fault is a jump. */
export function listFaults({ engine = 'postgres', workers = 1, hasClocks = false }) {
  const faults = FAULTS.filter(
    (fault) => (fault.engine ?? engine) === engine && (workers > 1 || !fault.needsWorkers) && !fault.needsClocks,
  )
  const jumps = FAULTS.filter((fault) => fault.needsClocks)
  return hasClocks ? faults.flatMap((fault) => [fault, ...jumps]) : faults
}
