// Runs proxies with the configuration of docs/guides/protect-an-application.md in front of a small application, and
// checks which requests pass and which headers the application receives.
//   npm run test:long -- nginx | nginx-cache | nginx-sign-in | caddy | caddy-sign-in | haproxy
import { createServer, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { createTestCardea } from '../../src/index.ts'
import { PROXIES } from './proxies/programs.ts'
import { addUsers, listDoors, OPTIONS } from './proxies/rows.ts'
import { findProgram, listen, startProxy } from './proxies/running.ts'

const MAX_WAITING_MS = 4000

/** Returns the request that it received. */
const openApplication = () =>
  createServer(async (incoming, response) => {
    const { method, url, headers, rawHeaders } = incoming
    response.end(JSON.stringify({ method, url, headers, rawHeaders, body: await text(incoming) }))
  })

interface Sent {
  readonly path?: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** With `node:http`, because `fetch` does not send headers such as `Connection`. */
async function ask(port: number, { path = '/reports?x=1', method = 'GET', headers = {}, body }: Sent) {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, path, method, headers, agent: false })
    outgoing.once('response', resolve).once('error', reject).end(body)
  })
  const content = await text(response)
  const received = response.statusCode === 200 ? JSON.parse(content) : undefined
  return { status: response.statusCode, headers: response.headers, received }
}

interface Outcome {
  readonly title: string
  readonly reply: Awaited<ReturnType<typeof ask>>
  readonly isRight: boolean
}

/** Repeats the request where the expected response needs time, such as the renewal of a cookie. */
async function askUntil(port, { isRepeated, ...sent }, isRight) {
  const deadline = Date.now() + MAX_WAITING_MS
  for (;;) {
    const reply = await ask(port, sent)
    if (!isRepeated || isRight(reply) || Date.now() > deadline) return reply
    await pause(50)
  }
}

async function checkDoor(proxy, { gate, rows }, application) {
  const { port, stop } = await startProxy(proxy.name, proxy, { gate: new URL(gate).host, application })
  const outcomes: Outcome[] = []
  try {
    for (const [title, sent, isRight] of rows) {
      const reply = await askUntil(port, sent, isRight)
      outcomes.push({ title, reply, isRight: isRight(reply) })
    }
  } finally {
    await stop()
  }
  return outcomes
}

/** The proxies that are installed on this machine. */
export const listPresent = () => Object.keys(PROXIES).filter((name) => findProgram(PROXIES[name]) !== undefined)

/** The outcome of every row, at both doors. */
export async function runProxy(name) {
  const proxy = { name, ...PROXIES[name] }
  const application = openApplication()
  const address = `127.0.0.1:${await listen(application)}`
  const cardea = await createTestCardea({ options: OPTIONS })
  try {
    const { document, multiModel } = await cardea.listen()
    await addUsers(document[0])
    const outcomes: (Outcome & { readonly door: string })[] = []
    const doors = await listDoors({ document: document[0], multiModel: multiModel[0] }, proxy)
    for (const [door, target] of Object.entries(doors)) {
      for (const outcome of await checkDoor(proxy, target, address)) outcomes.push({ door, ...outcome })
    }
    return outcomes
  } finally {
    application.close()
    application.closeAllConnections()
    await cardea.close()
  }
}

async function report(name) {
  const outcomes = await runProxy(name)
  for (const { door, title, reply, isRight } of outcomes) {
    const user = reply.received?.headers['x-auth-user']
    console.log(`${isRight ? 'ok    ' : 'WRONG '} ${door}: ${title} → ${reply.status}${user ? `, ${user}` : ''}`)
    if (!isRight) console.log(JSON.stringify(reply, null, 2))
  }
  const failures = outcomes.filter(({ isRight }) => !isRight).length
  console.log(failures === 0 ? `${name} behaves as the page says` : `${failures} checks failed`)
  process.exitCode = failures === 0 ? 0 : 1
}

if (import.meta.main) {
  const name = process.argv[2] ?? ''
  if (!Object.hasOwn(PROXIES, name)) {
    console.error(`usage: npm run test:long -- ${Object.keys(PROXIES).join(' | ')}`)
    process.exitCode = 1
  } else if (findProgram(PROXIES[name]) === undefined) {
    console.error(`${name} is not installed. On Debian: apt-get install -y ${PROXIES[name].debian}`)
    process.exitCode = 1
  } else await report(name)
}
