// Time from the start of the process to the first response of both doors, compared in turn with a minimal Node process
// that has two servers.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { median, milliseconds, ratio } from './figures.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const GOAL_MS = 500
const WARM_UPS = 3
const POLL_MS = 3

const BASELINE = fileURLToPath(new URL('./baseline-http.ts', import.meta.url))

/** The programs that are compared, each with two ports to listen on. */
const createCandidates = (folder) => {
  const serve = (bin) => (ports) => [
    ...[bin, 'serve', '--config', join(folder, 'data'), '--log.level', 'error'],
    ...['--chttpd.port', String(ports[0]), '--server.endpoint', `tcp://127.0.0.1:${ports[1]}`],
  ]
  return [
    { name: 'bare `node:http`, two servers', toArguments: (ports) => [BASELINE, ...ports.map(String)] },
    { name: 'Cardea from its package', toArguments: serve(join(folder, 'package', 'bin', 'cardea')) },
    { name: 'Cardea from a checkout', toArguments: serve(join(ROOT, 'bin', 'cardea')) },
  ]
}

function prepare() {
  const folder = mkdtempSync(join(tmpdir(), 'cardea-bench-'))
  const compiled = join(folder, 'package')
  execFileSync(join(ROOT, 'node_modules', '.bin', 'tsc'), [
    '-p',
    join(ROOT, 'tsconfig.build.json'),
    '--outDir',
    join(compiled, 'dist'),
  ])
  for (const name of ['bin', 'package.json']) cpSync(join(ROOT, name), join(compiled, name), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(compiled, 'node_modules'))
  execFileSync(process.execPath, [join(ROOT, 'bin', 'cardea'), 'init', join(folder, 'data')])
  return folder
}

async function findFreePorts(count) {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'))
  await Promise.all(servers.map((server) => once(server, 'listening')))
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(servers.map((server) => once(server.close(), 'close')))
  return ports
}

/** Polls until the server responds. Bare sockets, because the polling takes CPU time from the measured process. */
async function waitForResponse(port) {
  while (!(await isResponding(port))) await pause(POLL_MS)
}

function isResponding(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('GET /_up HTTP/1.1\r\nHost: localhost\r\n\r\n'))
    const finish = (isResponse) => {
      socket.destroy()
      resolve(isResponse)
    }
    socket.once('data', () => finish(true)).once('error', () => finish(false))
  })
}

async function measureOnce({ name, toArguments }) {
  const ports = await findFreePorts(2)
  const begun = performance.now()
  const child = spawn(process.execPath, toArguments(ports), { stdio: ['ignore', 'ignore', 'inherit'] })
  const ended = once(child, 'exit')
  const failed = ended.then(([code]) => Promise.reject(new Error(`${name} ended with ${code}`)))
  await Promise.race([Promise.all(ports.map(waitForResponse)), failed])
  const took = performance.now() - begun
  failed.catch(() => {})
  child.kill('SIGTERM')
  await ended
  return took
}

async function measureAll(candidates, runs) {
  const times = candidates.map(() => [])
  for (let round = -WARM_UPS; round < runs; round += 1) {
    for (const [index, candidate] of candidates.entries()) {
      const took = await measureOnce(candidate)
      if (round >= 0) times[index].push(took)
    }
  }
  return times
}

export const bench = {
  title: 'Start',
  about: `From the start of the process until both doors have answered a request: median of the runs. Goal: under ${GOAL_MS} ms.`,
  runs: 15,
  async run(runs) {
    const folder = prepare()
    try {
      const candidates = createCandidates(folder)
      const times = await measureAll(candidates, runs)
      const [base] = times.map(median)
      return {
        columns: ['what is started', 'median', 'fastest', 'slowest', 'of the bare server'],
        rows: candidates.map(({ name }, index) => {
          const own = times[index]
          const spread = [median(own), Math.min(...own), Math.max(...own)].map(milliseconds)
          return [name, ...spread, ratio(median(own) / base)]
        }),
        isGoalMet: times.slice(1).every((own) => median(own) < GOAL_MS),
      }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}
