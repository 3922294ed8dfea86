/**
 * Guesses passwords at full speed, and measures how long a correct sign-in from another address takes meanwhile. Each
 * row starts a server: one address; 200 addresses behind a proxy in `trusted_proxies`; 200 addresses claimed by a local
 * program that is not in it; 200 direct peers. Exits with 1 if a correct sign-in was refused, or took more than a second
 * longer than on the idle server.
 *
 *   node test/long/attacks/guesses.ts [seconds] [root of another checkout]
 */
import { once } from 'node:events'
import { appendFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { OWN_CHECKOUT, startServer } from '../../../bench/support/child.ts'
import { withFolder, writeConfig } from '../../../bench/support/folder.ts'

const [seconds = '10', checkout = OWN_CHECKOUT] = process.argv.slice(2)

const ATTACK_MS = Number(seconds) * 1000
const ITERATIONS = 600_000
const ADDRESSES = 200
const CONNECTIONS = 200
const MAX_DELAY_MS = 1000
const MAX_WAIT_MS = 30_000
const NONE = { status: 'no response', ms: MAX_WAIT_MS }
const ELSEWHERE = '127.9.9.9'

const forwarded = (at) => ({ headers: { 'X-Forwarded-For': `198.51.${100 + (at >> 8)}.${at & 255}` } })

/** The address and the account of guess number `at`. */
const ATTACKS = [
  { name: 'one address, many names', from: () => ({}), account: (at) => `user${at}` },
  { name: 'one address, one name', from: () => ({}), account: () => 'victim' },
  {
    name: '200 addresses behind a named proxy, many names',
    namesProxy: true,
    from: (at) => forwarded(at % ADDRESSES),
    account: (at) => `user${at}`,
  },
  {
    name: '200 addresses behind a named proxy, one name',
    namesProxy: true,
    from: (at) => forwarded(at % ADDRESSES),
    account: () => 'victim',
  },
  { name: '200 claimed addresses, many names', from: (at) => forwarded(at % ADDRESSES), account: (at) => `user${at}` },
  {
    name: '200 direct peers, many names',
    from: (at) => ({ localAddress: `127.1.0.${1 + (at % ADDRESSES)}` }),
    account: (at) => `user${at}`,
  },
]

async function guess(door, agent, { name, password, ...from }) {
  const body = JSON.stringify({ name, password })
  const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body), ...from.headers }
  const sent = request(`${door}/_session`, { method: 'POST', agent, ...from, headers }).end(body)
  const [response] = await once(sent, 'response')
  response.resume()
  await once(response, 'end')
  return response.statusCode
}

async function timeSignIn(door, account) {
  const startMs = performance.now()
  const status = await guess(door, false, { ...account, localAddress: ELSEWHERE })
  return { status, ms: performance.now() - startMs }
}

/** Guesses over many connections until `isOver`. Each connection sends its next guess after a response. */
function attack(door, { from, account }, isOver) {
  const answers = new Map()
  const agents = Array.from({ length: CONNECTIONS }, () => new Agent({ keepAlive: true, maxSockets: 1 }))
  const guesses = agents.map(async (agent, at) => {
    for (let turn = 0; !isOver(); turn += 1) {
      const number = at + turn * CONNECTIONS
      // a connection keeps its address
      const sent = { name: account(number), password: `wrong ${number}`, ...from(at) }
      const status = await guess(door, agent, sent).catch(({ code }) => code ?? 'failed')
      answers.set(status, (answers.get(status) ?? 0) + 1)
    }
  })
  const stop = () => {
    for (const agent of agents) agent.destroy()
    return Promise.allSettled(guesses)
  }
  return { answers, stop }
}

/** Its password is hashed when it signs in: no other request has used it. */
const FIRST = { name: 'first', password: 'the password of first' }
const SECOND = { name: 'second', password: 'the password of second' }

async function withServer(row, work) {
  return withFolder(async (folder) => {
    writeConfig(folder, ITERATIONS)
    const lines = [FIRST, SECOND].map(({ name, password }) => `${name} = ${password}\n`)
    const proxies = row.namesProxy ? '[chttpd]\ntrusted_proxies = loopback\n' : ''
    appendFileSync(join(folder, 'local.ini'), lines.join('') + proxies)
    const server = await startServer(folder, { checkout })
    try {
      return await work(server)
    } finally {
      await server.stop()
    }
  })
}

const measure = (row) =>
  withServer(row, async ({ document, output }) => {
    const idle = await timeSignIn(document, FIRST)
    const startMs = performance.now()
    let isOver = false
    const attacking = attack(document, row, () => isOver)
    await pause(ATTACK_MS)
    const busy = await Promise.race([timeSignIn(document, SECOND), pause(MAX_WAIT_MS, NONE)])
    const minutes = (performance.now() - startMs) / 60_000
    const perMinute = Math.round((attacking.answers.get(401) ?? 0) / minutes)
    isOver = true
    await attacking.stop()
    return { idle, busy, perMinute, answers: attacking.answers, logBytes: output().length }
  })

const renderAnswers = (answers) => [...answers].map(([status, count]) => `${count} × ${status}`).join(', ')

let isGoalMet = true
for (const row of ATTACKS) {
  const { idle, busy, perMinute, answers, logBytes } = await measure(row)
  const isMet = busy.status === 200 && busy.ms - idle.ms <= MAX_DELAY_MS
  isGoalMet &&= isMet
  console.log(`${row.name}
  guesses checked per minute: ${perMinute} (${renderAnswers(answers)})
  correct sign-in: ${Math.round(idle.ms)} ms idle, ${Math.round(busy.ms)} ms during the attack (${busy.status})
  log: ${Math.round(logBytes / 1024)} KiB${isMet ? '' : '\n  GOAL MISSED'}`)
}
process.exitCode = isGoalMet ? 0 : 1
