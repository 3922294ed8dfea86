// Requests a second through the gateway, beside the upstream alone and beside the least a proxy can do, in one run; and
// the memory it takes to pass a stream on. node scripts/bench/gateway.mjs [seconds] [GiB]
import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { request } from 'node:http'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import autocannon from 'autocannon'

const seconds = Number(process.argv[2] ?? 5)
const gibibytes = Number(process.argv[3] ?? 5)
const ROUNDS = 3
const children = []

async function start(file, ...args) {
  const path = fileURLToPath(new URL(file, import.meta.url))
  const child = spawn(process.execPath, ['--expose-gc', path, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  children.push(child)
  const lines = createInterface({ input: child.stdout })
  const [line] = await once(lines, 'line')
  const ask = async () => {
    child.stdin.write('memory\n')
    return JSON.parse((await once(lines, 'line'))[0])
  }
  return { url: `http://127.0.0.1:${JSON.parse(line).port}`, ask }
}

function signToken() {
  const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = { sub: 'admin', '_couchdb.roles': ['_admin'], exp: Math.floor(Date.now() / 1000) + 3600 }
  const signed = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claims)}`
  return `${signed}.${createHmac('sha256', 'the-secret-of-the-measured-tokens').update(signed).digest('base64url')}`
}

async function signIn(url) {
  const answer = await fetch(`${url}/_session`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ name: 'admin', password: 'adminpw' }),
  })
  return answer.headers.getSetCookie()[0].split(';')[0]
}

async function measure(url, headers) {
  const result = await autocannon({ url: `${url}/db/doc`, connections: 64, duration: seconds, headers })
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${result.non2xx} bad answers, ${result.errors} errors`)
  return { rate: result.requests.average, p50: result.latency.p50, p99: result.latency.p99 }
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]
const mid = (runs, key) => median(runs.map((run) => run[key]))

/** In turns, so that whatever else the machine does meets all of them alike. */
async function compareRates(upstream, proxy, front) {
  const basic = `Basic ${Buffer.from('admin:adminpw').toString('base64')}`
  const targets = [
    ['upstream alone', upstream.url, {}],
    ['baseline proxy', proxy.url, {}],
    ['gateway, JWT', front.url, { Authorization: `Bearer ${signToken()}` }],
    ['gateway, cookie', front.url, { Cookie: await signIn(front.url) }],
    ['gateway, Basic', front.url, { Authorization: basic }],
    ['gateway, anonymous', front.url, {}],
  ]
  const runs = new Map(targets.map(([name]) => [name, []]))
  for (let round = 0; round <= ROUNDS; round += 1)
    for (const [name, url, headers] of targets) {
      const run = await measure(url, headers)
      if (round > 0) runs.get(name).push(run) // the first warms up
    }
  const base = runs.get('baseline proxy')
  const alone = runs.get('upstream alone')
  console.log('| | requests a second | of the baseline | added p50 (ms) | added p99 (ms) |\n|---|---|---|---|---|')
  for (const [name, list] of runs) {
    const share = (mid(list, 'rate') / mid(base, 'rate')).toFixed(2)
    const added = ['p50', 'p99'].map((key) => mid(list, key) - mid(alone, key))
    console.log(`| ${name} | ${Math.round(mid(list, 'rate'))} | ${share} | ${added[0]} | ${added[1]} |`)
  }
}

const PIECE = Buffer.alloc(1 << 20)

async function send(front, bytes) {
  const headers = { 'Content-Length': bytes, Authorization: `Bearer ${signToken()}` }
  const upload = request(`${front.url}/db/doc/file`, { method: 'PUT', headers })
  const answered = once(upload, 'response')
  for (let left = bytes; left > 0; left -= PIECE.length) if (!upload.write(PIECE)) await once(upload, 'drain')
  upload.end()
  const [response] = await answered
  response.resume()
  await once(response, 'end')
}

async function receive(front, bytes) {
  const headers = { Authorization: `Bearer ${signToken()}` }
  const download = request(`${front.url}/db/doc/file?bytes=${bytes}`, { headers })
  const [response] = await once(download.end(), 'response')
  let seen = 0
  for await (const chunk of response) seen += chunk.length
  if (seen !== bytes) throw new Error(`${seen} of ${bytes} bytes came`)
}

async function watchMemory(front, name, work) {
  const before = await front.ask()
  let peak = 0
  let isOver = false
  const watching = (async () => {
    while (!isOver) {
      peak = Math.max(peak, (await front.ask()).rss)
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
  })()
  const start = performance.now()
  await work()
  isOver = true
  await watching
  const toMiB = (bytes) => Math.round(bytes / 1_048_576)
  const rate = Math.round((gibibytes * 1024) / ((performance.now() - start) / 1000))
  console.log(`| ${gibibytes} GiB ${name} | ${rate} MiB/s | ${toMiB(before.rss)} | ${toMiB(peak)} |`)
}

try {
  const upstream = await start('upstream.mjs')
  const proxy = await start('baseline-proxy.mjs', upstream.url)
  const front = await start('front.mjs', upstream.url)
  await compareRates(upstream, proxy, front)
  console.log('\n| stream | rate | memory before (MiB) | most while it ran (MiB) |\n|---|---|---|---|')
  const bytes = gibibytes * 2 ** 30
  await watchMemory(front, 'up', () => send(front, bytes))
  await watchMemory(front, 'down', () => receive(front, bytes))
} finally {
  for (const child of children) child.kill()
}
