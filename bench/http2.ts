// CPU time of a request over both versions, of Cardea and of minimal servers, and memory of idle clients over HTTP/2.
// Sizes: requests of a batch, connections, batches of warm-up, idle connections.
import { once } from 'node:events'
import { appendFileSync, readFileSync } from 'node:fs'
import { type ClientHttp2Session, connect } from 'node:http2'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { median, ratio } from './figures.ts'
import { startServer } from './support/child.ts'
import { closeAll, measureBatch, openTarget } from './support/cpu-time.ts'
import { withFolder, writeConfig } from './support/folder.ts'
import { killChild, startScript, toLocalUrl } from './support/gateway.ts'

const PATH = '/_session'
const STREAMS = 20
/** Until garbage is collected and buffers are freed. */
const SETTLE_MS = 1000

async function openSession(url: string): Promise<ClientHttp2Session> {
  const session = connect(url)
  session.on('error', () => {})
  await once(session, 'remoteSettings')
  return session
}

const openSessions = (url, count) => Promise.all(Array.from({ length: count }, () => openSession(url)))

/** The connections of a target of `measureBatch`. */
async function openHttp2Target({ url, pids }, count) {
  const sessions = await openSessions(url, count)
  const connections = sessions.map((session) => ({
    send: (headers, done) => session.request(headers).resume().once('close', done),
    close: () => session.destroy(),
  }))
  return { pids, connections, createRequest: async () => ({ ':path': PATH }) }
}

const readMemoryKib = (pid) => Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])

/** KiB of the server for one idle connection, and for one request on it whose body does not come. */
async function measureMemory({ url, pids }, count) {
  const [pid] = pids
  const first = readMemoryKib(pid)
  const sessions = await openSessions(url, count)
  await pause(SETTLE_MS)
  const connected = readMemoryKib(pid)
  for (const session of sessions)
    for (let i = 0; i < STREAMS; i += 1) session.request({ ':method': 'POST', ':path': PATH }).on('error', () => {})
  await pause(SETTLE_MS)
  const opened = readMemoryKib(pid)
  for (const session of sessions) session.destroy()
  return { connection: (connected - first) / count, stream: (opened - connected) / (count * STREAMS) }
}

async function measureTimes(servers, rounds, [batch, connections, warmBatches]) {
  const targets = await Promise.all(
    servers.map((each) =>
      each.isHttp2 ? openHttp2Target(each, connections) : openTarget({ ...each, path: PATH }, connections),
    ),
  )
  const values: number[][] = servers.map(() => [])
  for (let round = -warmBatches; round < rounds; round += 1)
    for (const [index, target] of targets.entries()) {
      const us = await measureBatch(target, batch)
      if (round >= 0) values[index]?.push(us)
    }
  closeAll(targets)
  return values
}

const renderKib = (kib) => `${kib.toFixed(1)} KiB`

export const bench = {
  title: 'HTTP/2',
  about:
    'CPU time of `GET /_session` by an anonymous client, all threads together, in alternating batches, and memory of\n' +
    'the server for an idle connection of HTTP/2 and for a request on it whose body does not come. Figures are medians;\n' +
    'the ratio is that to the bare server of the same version within one round. Goal: a ratio over HTTP/2 that is not\n' +
    'above that over HTTP/1.1.',
  runs: 40,
  run: (rounds, [batch = 640, connections = 32, warmBatches = 40, idle = 500] = []) =>
    withFolder(async (folder) => {
      await using started = new AsyncDisposableStack()
      const { child, ports = [] } = started.adopt(await startScript('bare-versions.ts'), killChild)
      writeConfig(folder, 10)
      appendFileSync(
        join(folder, 'local.ini'),
        '[door]\nmax-connections-per-client = 100000\nmax-connections = 100000\n',
      )
      const cardea = started.adopt(await startServer(folder), (server) => server.stop())
      const own = { url: cardea.document, pids: [cardea.child.pid] }
      const bare = ports.map((port) => ({ url: toLocalUrl(port), pids: [child.pid] }))
      const servers = [
        { name: 'bare `node:http`', ...bare[0] },
        { name: 'Cardea over HTTP/1.1', ...own },
        { name: 'bare `node:http2`', isHttp2: true, ...bare[1] },
        { name: 'Cardea over HTTP/2', isHttp2: true, ...own },
      ]
      const times = await measureTimes(servers, rounds, [batch, connections, warmBatches])
      const ratios = times.map((values, index) =>
        median(values.map((us, round) => us / (times[index - (index % 2)]?.[round] ?? us))),
      )
      const memory = [undefined, undefined, await measureMemory(servers[2], idle), await measureMemory(own, idle)]
      return {
        columns: ['', 'CPU time', 'of its bare server', 'idle connection', 'idle request'],
        rows: servers.map(({ name }, index) => [
          name,
          `${median(times[index]).toFixed(1)} µs`,
          ratio(ratios[index]),
          memory[index] ? renderKib(memory[index].connection) : '',
          memory[index] ? renderKib(memory[index].stream) : '',
        ]),
        isGoalMet: (ratios[3] ?? 0) <= (ratios[1] ?? 0),
      }
    }),
}
