// Runs proxies with the configuration of docs/guides/protect-an-application.md in front of a small application, and
// checks which requests pass and which headers the application receives.
//   node scripts/proxies.mjs nginx | caddy
import { createServer, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { createTestCardea } from '../src/index.ts'
import { PROXIES } from './proxies/programs.mjs'
import { addUsers, listDoors, OPTIONS } from './proxies/rows.mjs'
import { findProgram, listen, startProxy } from './proxies/running.mjs'

const MAX_WAITING_MS = 4000

/** Answers with what it was told. */
const openApplication = () =>
  createServer(async (incoming, response) => {
    const { method, url, headers, rawHeaders } = incoming
    response.end(JSON.stringify({ method, url, headers, rawHeaders, body: await text(incoming) }))
  })

/** By hand: `fetch` keeps headers like `Connection` for itself. */
async function ask(port, { path = '/reports?x=1', method = 'GET', headers = {}, body }) {
  const answer = await new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path, method, headers, agent: false })
    asked.once('response', resolve).once('error', reject).end(body)
  })
  const answered = await text(answer)
  const told = answer.statusCode === 200 ? JSON.parse(answered) : undefined
  return { status: answer.statusCode, headers: answer.headers, told }
}

/** What only time brings about is asked for again. */
async function askUntil(port, { isRepeated, ...sent }, isRight) {
  const deadline = Date.now() + MAX_WAITING_MS
  for (;;) {
    const answer = await ask(port, sent)
    if (!isRepeated || isRight(answer) || Date.now() > deadline) return answer
    await pause(50)
  }
}

async function checkDoor(proxy, { gate, rows }, application) {
  const { port, stop } = await startProxy(proxy.name, proxy, { gate: new URL(gate).host, application })
  const outcomes = []
  try {
    for (const [title, sent, isRight] of rows) {
      const answer = await askUntil(port, sent, isRight)
      outcomes.push({ title, answer, isRight: isRight(answer) })
    }
  } finally {
    await stop()
  }
  return outcomes
}

/** Which of the proxies are on this machine. */
export const listPresent = () => Object.keys(PROXIES).filter((name) => findProgram(PROXIES[name]) !== undefined)

/** What came of every row, at both doors. */
export async function runProxy(name) {
  const proxy = { name, ...PROXIES[name] }
  const application = openApplication()
  const place = `127.0.0.1:${await listen(application)}`
  const cardea = await createTestCardea({ options: OPTIONS })
  try {
    const { document, multiModel } = await cardea.listen()
    await addUsers(document[0])
    const outcomes = []
    const doors = await listDoors({ document: document[0], multiModel: multiModel[0] }, proxy)
    for (const [door, asked] of Object.entries(doors)) {
      for (const outcome of await checkDoor(proxy, asked, place)) outcomes.push({ door, ...outcome })
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
  for (const { door, title, answer, isRight } of outcomes) {
    const user = answer.told?.headers['x-auth-user']
    console.log(`${isRight ? 'ok    ' : 'WRONG '} ${door}: ${title} → ${answer.status}${user ? `, ${user}` : ''}`)
    if (!isRight) console.log(JSON.stringify(answer, null, 2))
  }
  const failures = outcomes.filter(({ isRight }) => !isRight).length
  console.log(failures === 0 ? `${name} does as the page says` : `${failures} checks failed`)
  process.exitCode = failures === 0 ? 0 : 1
}

if (import.meta.main) {
  const name = process.argv[2] ?? ''
  if (!Object.hasOwn(PROXIES, name)) {
    console.error(`Which one? ${Object.keys(PROXIES).join(', ')}`)
    process.exitCode = 1
  } else if (findProgram(PROXIES[name]) === undefined) {
    console.error(`There is no ${name} here. On Debian: apt-get install -y ${PROXIES[name].debian}`)
    process.exitCode = 1
  } else await report(name)
}
