// Memory of the server while it forwards a long stream. Sizes: MiB of the stream.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { median } from './figures.ts'
import { signToken, withGateway } from './support/gateway.ts'
import { renderNumber } from './support/measure.ts'

const MAX_GROWTH_MIB = 64
const PIECE = Buffer.alloc(1 << 20)

const authorization = () => ({ Authorization: `Bearer ${signToken()}` })

async function send(url, bytes, onBytes) {
  const headers = { 'Content-Length': bytes, ...authorization() }
  const upload = request(`${url}/db/doc/file`, { method: 'PUT', headers })
  const answered = once(upload, 'response')
  for (let sent = 0; sent < bytes; sent += PIECE.length) {
    if (!upload.write(PIECE)) await once(upload, 'drain')
    onBytes(sent)
  }
  const [response] = await Promise.all([answered.then(([each]) => each), upload.end()])
  await once(response.resume(), 'end')
}

async function receive(url, bytes, onBytes) {
  const download = request(`${url}/db/doc/file?bytes=${bytes}`, { headers: authorization() })
  const [response] = await once(download.end(), 'response')
  let seen = 0
  for await (const chunk of response) {
    seen += chunk.length
    onBytes(seen)
  }
  if (seen !== bytes) throw new Error(`${seen} of ${bytes} bytes arrived`)
}

/** Resident memory of the process in MiB. */
const readMemory = ({ pid }) =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

/** The peak in the first tenth of the stream and in the rest. Memory that grows with the stream shows in the rest. */
async function watch(child, pass, url, bytes) {
  const before = readMemory(child)
  const most = { first: 0, rest: 0 }
  let [passed, isOver] = [0, false]
  const looking = (async () => {
    while (!isOver) {
      const part = passed < bytes / 10 ? 'first' : 'rest'
      most[part] = Math.max(most[part], readMemory(child))
      await pause(20)
    }
  })()
  const startMs = performance.now()
  await pass(url, bytes, (count) => {
    passed = count
  })
  const rate = bytes / 2 ** 20 / ((performance.now() - startMs) / 1000)
  isOver = true
  await looking
  return { before, rate, ...most }
}

export const bench = {
  title: 'A long stream through the gateway',
  about:
    'The most memory that the server used in the first tenth of a stream and in the rest of it. Data that the gateway\n' +
    `collects would show there. Goal: at most ${MAX_GROWTH_MIB} MiB more in the rest.`,
  runs: 2,
  async run(rounds, [mebibytes = 5120] = []) {
    const bytes = mebibytes * 2 ** 20
    const ways = [
      ['up', send],
      ['down', receive],
    ]
    const results = await withGateway(async ({ gateway, child }) => {
      const turns = ways.map((): Awaited<ReturnType<typeof watch>>[] => [])
      for (let round = 0; round < rounds; round += 1)
        for (const [index, [, pass]] of ways.entries()) turns[index].push(await watch(child, pass, gateway, bytes))
      return turns
    })
    const mid = (turns, key) => median(turns.map((turn) => turn[key]))
    const render = (value) => `${renderNumber(Math.round(value))} MiB`
    return {
      columns: ['', 'a second', 'before', 'first tenth', 'rest'],
      rows: results.map((turns, index) => [
        `${render(mebibytes)} ${ways[index][0]}`,
        ...['rate', 'before', 'first', 'rest'].map((key) => render(mid(turns, key))),
      ]),
      isGoalMet: results.every((turns) => mid(turns, 'rest') - mid(turns, 'first') <= MAX_GROWTH_MIB),
    }
  },
}
