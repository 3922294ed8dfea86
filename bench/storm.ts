// The delay of a server's event loop while many clients sign in. Sizes: milliseconds, clients.
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { startServer } from './support/child.ts'
import { ADMIN, withFolder, writeConfig } from './support/folder.ts'
import { renderNumber } from './support/measure.ts'
import { fillStore, nameOf } from './support/users.ts'

const MAX_MS = 20
const USERS = 1000
const ITERATIONS = 600_000
const LOOP_DELAY = join(import.meta.dirname, 'support', 'loop-delay.ts')

async function readDelay(server) {
  const from = server.output().length
  server.child.kill('SIGUSR2')
  const [, json] = await server.says(/^loop-delay (.*)$/m, from)
  return JSON.parse(json)
}

/** Clients that sign in repeatedly, most with a wrong password, some as the administrator. */
async function storm(door, callers, ms) {
  const agent = new Agent({ keepAlive: true, maxSockets: callers })
  const untilMs = performance.now() + ms
  const answers = new Map()
  const call = async (caller) => {
    for (let turn = 0; performance.now() < untilMs; turn += 1) {
      const isAdmin = (caller + turn) % 10 === 0
      const status = await signIn(
        door,
        agent,
        isAdmin ? ADMIN : { name: nameOf((caller + turn * 37) % USERS), password: 'wrong' },
      )
      answers.set(status, (answers.get(status) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: callers }, (_, caller) => call(caller)))
  agent.destroy()
  return answers
}

async function signIn(door, agent, account) {
  const body = JSON.stringify(account)
  const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }
  const sent = request(`${door}/_session`, { method: 'POST', agent, headers }).end(body)
  const [response] = await once(sent, 'response')
  response.resume()
  await once(response, 'end')
  return response.statusCode
}

const renderAnswers = (answers) =>
  [...answers]
    .sort()
    .map(([status, count]) => `${count} × ${status}`)
    .join(', ')

function stormOnce(ms, callers) {
  return withFolder(async (folder) => {
    writeConfig(folder, ITERATIONS)
    await fillStore(`sqlite:${join(folder, 'cardea.db')}`, USERS)
    const server = await startServer(folder, { flags: ['--import', LOOP_DELAY] })
    try {
      await readDelay(server) // discards the delays of the start
      const answers = await storm(server.document, callers, ms)
      return { answers, delay: await readDelay(server) }
    } finally {
      await server.stop()
    }
  })
}

export const bench = {
  title: 'Storm of sign-ins',
  about:
    `The delay of the event loop while many clients sign in repeatedly, most of them with a wrong password of\n` +
    `${renderNumber(ITERATIONS)} iterations. Goal: the 99th percentile is under ${MAX_MS} ms.`,
  runs: 3,
  async run(runs, [ms = 10_000, callers = 100] = []) {
    const results: Awaited<ReturnType<typeof stormOnce>>[] = []
    for (let run = 0; run < runs; run += 1) results.push(await stormOnce(ms, callers))
    return {
      columns: ['answers', 'median', '99 of 100', 'longest'],
      rows: results.map(({ answers, delay }) => [
        renderAnswers(answers),
        ...[delay.p50, delay.p99, delay.max].map((each) => `${renderNumber(each)} ms`),
      ]),
      isGoalMet: results.every(({ delay }) => delay.p99 < MAX_MS),
    }
  },
}
