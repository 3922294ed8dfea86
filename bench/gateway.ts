// Requests per second through the gateway, compared with a minimal proxy and with the upstream alone. Sizes: requests
// of a turn, connections, turns of warm-up, starts of the servers.
import autocannon from 'autocannon'
import { median } from './figures.ts'
import { signIn, signToken, toBasic, withGateway } from './support/gateway.ts'
import { renderNumber } from './support/measure.ts'

const GOALS = { share: 0.85, addedMs: 20 }

/** How often the load generator checks whether it is done. Its default of a second is longer than a turn. */
const LOOK_MS = 50

interface Turn {
  readonly rate: number
  readonly p50: number
  readonly p99: number
  readonly p999: number
  /** Of the rate of the minimal proxy. */
  readonly share: number
}

interface Contestant {
  readonly name: string
  readonly url: string
  getHeaders?(): Record<string, string> | Promise<Record<string, string>>
}

/** One turn of one contestant: its rate, and the latency of its responses. */
async function measure({ url, getHeaders }: Contestant, amount: number, connections: number) {
  const times: number[] = []
  const headers = await getHeaders?.()
  const startMs = performance.now()
  let lastMs = startMs
  const run = autocannon({ url: `${url}/db/doc`, connections, amount, headers, sampleInt: LOOK_MS })
  run.on('response', (_client, _status, _bytes, ms) => {
    times.push(ms)
    lastMs = performance.now()
  })
  const { non2xx, errors } = await run
  if (non2xx > 0 || errors > 0) throw new Error(`${non2xx} error responses, ${errors} errors`)
  const sorted = Float64Array.from(times).sort()
  const at = (share) => sorted[Math.floor(sorted.length * share)] ?? 0
  return { rate: times.length / ((lastMs - startMs) / 1000), p50: at(0.5), p99: at(0.99), p999: at(0.999) }
}

const listContestants = ({
  upstream,
  proxy,
  gateway,
}: Record<'upstream' | 'proxy' | 'gateway', string>): Contestant[] => [
  { name: 'upstream alone', url: upstream },
  { name: 'minimal proxy', url: proxy },
  { name: 'gateway, JWT', url: gateway, getHeaders: () => ({ Authorization: `Bearer ${signToken()}` }) },
  // with a new session for each turn: a cookie older than a minute would be renewed by every response
  { name: 'gateway, cookie', url: gateway, getHeaders: async () => ({ Cookie: await signIn(gateway) }) },
  { name: 'gateway, Basic', url: gateway, getHeaders: () => ({ Authorization: toBasic() }) },
  { name: 'gateway, anonymous', url: gateway },
]

/** The results of all starts. One process of the same code may be a tenth slower than another for all its life. */
async function compareStarts(starts, rounds, sizes) {
  const results: Awaited<ReturnType<typeof compare>>[] = []
  for (let start = 0; start < starts; start += 1)
    results.push(await withGateway((servers) => compare(servers, Math.ceil(rounds / starts), sizes)))
  const [first] = results
  return (first ?? []).map(({ name }, index) => ({ name, turns: results.flatMap((result) => result[index].turns) }))
}

/**
 * Each turn runs between two turns of the minimal proxy, and is short: the load of the machine changes within seconds,
 * but is nearly the same for turns that follow each other.
 */
async function compare(servers, rounds, { amount, connections, warmTurns }) {
  const contestants = listContestants(servers)
  const least = contestants[LEAST]
  for (let turn = 0; turn < warmTurns; turn += 1)
    for (const each of contestants) await measure(each, amount, connections)
  const turns = contestants.map((): Turn[] => [])
  let before = await measure(least, amount, connections)
  for (let round = 0; round < rounds; round += 1)
    for (const [index, each] of contestants.entries()) {
      const own = await measure(each, amount, connections)
      const after = await measure(least, amount, connections)
      turns[index].push({ ...own, share: (2 * own.rate) / (before.rate + after.rate) })
      before = after
    }
  return contestants.map(({ name }, index) => ({ name, turns: turns[index] }))
}

/** Enough that their differences even out. */
const STARTS = 8

const ALONE = 0
const LEAST = 1

export const bench = {
  title: 'Gateway',
  about:
    'A small document through the gateway with each kind of credential, through a minimal undici proxy (no credentials,\n' +
    "few headers, V8's default flags), and from the upstream itself. Each turn of 8,000 requests is compared with the\n" +
    `turns of the minimal proxy before and after it; figures are medians of all turns of ${STARTS} starts. The server has\n` +
    'one core, load and upstream share another. "Added" is compared with the upstream alone. Goals: ' +
    `${GOALS.share} of\nthe minimal proxy, and at most ${GOALS.addedMs} ms more than it adds to p99.9.`,
  runs: 40,
  async run(rounds, [amount = 8000, connections = 64, warmTurns = 10, starts = STARTS] = []) {
    const results = await compareStarts(starts, rounds, { amount, connections, warmTurns })
    const middle = (turns, toNumber) => median(turns.map(toNumber))
    const share = (turns) => middle(turns, (turn) => turn.share)
    const added = (turns, at) => middle(turns, (turn, round) => turn[at] - results[ALONE].turns[round][at])
    const render = (ms) => `${renderNumber(ms)} ms`
    return {
      columns: ['', 'requests a second', 'of the minimal proxy', 'added to p50', 'added to p99', 'added to p99.9'],
      rows: results.map(({ name, turns }) => [
        name,
        renderNumber(Math.round(middle(turns, ({ rate }) => rate))),
        share(turns).toFixed(2),
        render(added(turns, 'p50')),
        render(added(turns, 'p99')),
        render(added(turns, 'p999')),
      ]),
      isGoalMet: results
        .slice(LEAST + 1)
        .every(
          ({ turns }) =>
            share(turns) >= GOALS.share && added(turns, 'p999') <= added(results[LEAST].turns, 'p999') + GOALS.addedMs,
        ),
    }
  },
}
