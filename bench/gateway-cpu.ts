// CPU time of one forwarded request. With `--against=DIR`, also that of other checkouts, in alternating batches: for
// the gain of a single change. Sizes: requests of a batch, connections, batches of warm-up.
import { basename, resolve } from 'node:path'
import { median } from './figures.ts'
import { OWN_CHECKOUT } from './support/child.ts'
import { closeAll, measureBatch, openTarget, type Target } from './support/cpu-time.ts'
import { signIn, signToken, toBasic, withGateway } from './support/gateway.ts'

type Contestant = Omit<Target, 'path'> & { readonly name: string }

const KINDS = {
  JWT: () => `Authorization: Bearer ${signToken()}\r\n`,
  cookie: async (gateway) => `Cookie: ${await signIn(gateway)}\r\n`,
  Basic: () => `Authorization: ${toBasic()}\r\n`,
  anonymous: () => '',
}

function listContestants(servers, checkout) {
  const isOwn = checkout === OWN_CHECKOUT
  const gateways = Object.entries(KINDS).map(([kind, createHeader]) => ({
    name: isOwn ? `gateway, ${kind}` : `gateway, ${kind} (${basename(checkout)})`,
    url: servers.gateway,
    pid: servers.child.pid,
    createHeader: () => createHeader(servers.gateway),
  }))
  if (!isOwn) return gateways
  const { proxy: url, proxyChild } = servers
  return [{ name: 'minimal proxy', url, pid: proxyChild.pid, createHeader: () => '' }, ...gateways]
}

/** Starts the servers of every checkout, then runs `work` with all of them. */
async function withCheckouts([checkout, ...others]: string[], work, contestants: Contestant[] = []) {
  if (checkout === undefined) return work(contestants)
  return withGateway(
    (servers) => withCheckouts(others, work, [...contestants, ...listContestants(servers, checkout)]),
    checkout,
  )
}

const openContestant = async ({ name, ...target }: Contestant, connections) => ({
  name,
  ...(await openTarget({ ...target, path: '/db/doc' }, connections)),
  values: [],
})

async function compare(given, rounds, { batch, connections, warmBatches }) {
  const contestants = await Promise.all(given.map((each) => openContestant(each, connections)))
  for (let round = -warmBatches; round < rounds; round += 1)
    for (const each of contestants) {
      const us = await measureBatch(each, batch)
      if (round >= 0) each.values.push(us)
    }
  closeAll(contestants)
  return contestants
}

const quantile = (values, share) => values.toSorted((a, b) => a - b)[Math.floor(values.length * share)]

export const bench = {
  title: 'CPU time of the gateway',
  about:
    'CPU time of a small document through the gateway, all threads together, in alternating batches. The lower ' +
    'quartile is the steadiest figure on a busy machine. The ratio is the median of the ratios to the minimal proxy ' +
    'within one round. There is no goal.',
  runs: 40,
  async run(rounds, [batch = 640, connections = 32, warmBatches = 40] = [], checkouts: string[] = []) {
    const all = [OWN_CHECKOUT, ...checkouts.map((each) => resolve(each))]
    const results = await withCheckouts(all, (given) => compare(given, rounds, { batch, connections, warmBatches }))
    const [minimal] = results
    const toRatio = ({ values }) => median(values.map((us, round) => us / minimal.values[round]))
    return {
      columns: ['', 'lower quartile', 'median', 'of the minimal proxy'],
      rows: results.map((each) => [
        each.name,
        `${quantile(each.values, 0.25).toFixed(1)} µs`,
        `${median(each.values).toFixed(1)} µs`,
        `${toRatio(each).toFixed(2)} ×`,
      ]),
      isGoalMet: true,
    }
  },
}
