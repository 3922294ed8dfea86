// Requests a second through the gateway, beside the upstream alone and beside the least a proxy can do. Sizes: seconds
// of each turn, connections, seconds each warms up.
import autocannon from 'autocannon'
import { median } from './figures.mjs'
import { signIn, signToken, toBasic, withGateway } from './support/gateway.mjs'
import { renderNumber } from './support/measure.mjs'

const LEAST_SHARE = 0.75

/** A turn of one contestant: its rate, and how long answers took. */
async function measure({ url, getHeaders }, seconds, connections) {
  const times = []
  const run = autocannon({ url: `${url}/db/doc`, connections, duration: seconds, headers: await getHeaders?.() })
  run.on('response', (_client, _status, _bytes, ms) => times.push(ms))
  const { non2xx, errors, requests, duration } = await run
  if (non2xx > 0 || errors > 0) throw new Error(`${non2xx} bad answers, ${errors} errors`)
  const sorted = Float64Array.from(times).sort()
  const at = (share) => sorted[Math.floor(sorted.length * share)] ?? 0
  return { rate: requests.total / duration, p50: at(0.5), p99: at(0.99) }
}

const listContestants = ({ upstream, proxy, gateway }) => [
  { name: 'upstream alone', url: upstream },
  { name: 'least proxy', url: proxy },
  { name: 'gateway, JWT', url: gateway, getHeaders: () => ({ Authorization: `Bearer ${signToken()}` }) },
  // anew each turn: no client keeps a cookie for minutes when it was given a newer one
  { name: 'gateway, cookie', url: gateway, getHeaders: async () => ({ Cookie: await signIn(gateway) }) },
  { name: 'gateway, Basic', url: gateway, getHeaders: () => ({ Authorization: toBasic() }) },
  { name: 'gateway, nobody', url: gateway },
]

/** In turns, so that whatever else the machine does meets all of them alike. */
async function compare(servers, rounds, { seconds, connections, warmSeconds }) {
  const contestants = listContestants(servers)
  for (const each of warmSeconds > 0 ? contestants : []) await measure(each, warmSeconds, connections)
  const turns = contestants.map(() => [])
  for (let round = 0; round < rounds; round += 1)
    for (const [index, each] of contestants.entries()) turns[index].push(await measure(each, seconds, connections))
  return contestants.map(({ name }, index) => ({ name, turns: turns[index] }))
}

/** The middle of what each round gave, each beside what the same round gave for another. */
const middle = (turns, others, relate) => median(turns.map((turn, round) => relate(turn, others[round])))

export const bench = {
  title: 'Gateway',
  about:
    'A small document through the gateway with each kind of credential, through the least an undici proxy can do ' +
    '(no credentials, nearly no headers), and from the upstream itself. Added is to what the upstream alone takes ' +
    `under the same number of connections. Goal: ${LEAST_SHARE} of the least proxy.`,
  runs: 5,
  async run(rounds, [seconds = 4, connections = 64, warmSeconds = 8] = []) {
    const results = await withGateway((servers) => compare(servers, rounds, { seconds, connections, warmSeconds }))
    const [alone, least] = results.map(({ turns }) => turns)
    const share = (turns) => middle(turns, least, (own, other) => own.rate / other.rate)
    const added = (turns, at) => middle(turns, alone, (own, other) => own[at] - other[at])
    const render = (ms) => `${renderNumber(ms)} ms`
    return {
      columns: ['', 'requests a second', 'of the least proxy', 'added to p50', 'added to p99'],
      rows: results.map(({ name, turns }) => [
        name,
        renderNumber(Math.round(median(turns.map(({ rate }) => rate)))),
        share(turns).toFixed(2),
        render(added(turns, 'p50')),
        render(added(turns, 'p99')),
      ]),
      isGoalMet: results.slice(2, 5).every(({ turns }) => share(turns) >= LEAST_SHARE),
    }
  },
}
