// CPU time of one request with each kind of credential, and of a baseline. With `--against=DIR`, also that of other
// checkouts, in alternating batches: for the gain of a single change. Sizes: requests of a batch, connections, batches
// of warm-up.
import { randomUUID } from 'node:crypto'
import { basename, resolve } from 'node:path'
import { median } from '../figures.ts'
import { OWN_CHECKOUT } from './child.ts'
import { closeAll, measureBatch, openTarget, type Target } from './cpu-time.ts'
import { signIn, signToken, toBasic, withGateway } from './gateway.ts'

export type Contestant = Omit<Target, 'path'> & { readonly name: string }

/** What is compared: requests for `path`, and what a minimal program takes for as much. */
export interface Comparison {
  readonly path: string
  readonly baseline: { readonly name: string; find(servers): Pick<Target, 'url' | 'pids'> }
}

const KINDS = {
  JWT: () => `Authorization: Bearer ${signToken()}\r\n`,
  // signed before the batch: a client that signs meanwhile would let the server wait, and wake up for each request
  'JWT, never seen': (_gateway, count: number) =>
    Array.from({ length: count }, () => `Authorization: Bearer ${signToken(randomUUID())}\r\n`),
  cookie: async (gateway) => `Cookie: ${await signIn(gateway)}\r\n`,
  Basic: () => `Authorization: ${toBasic()}\r\n`,
  anonymous: () => '',
}

function listContestants(servers, checkout, { baseline }: Comparison) {
  const isOwn = checkout === OWN_CHECKOUT
  const gateways = Object.entries(KINDS).map(([kind, createHeader]) => ({
    name: isOwn ? kind : `${kind} (${basename(checkout)})`,
    url: servers.gateway,
    pids: [servers.child.pid],
    createHeader: (count: number) => createHeader(servers.gateway, count),
  }))
  if (!isOwn) return gateways
  return [{ name: baseline.name, ...baseline.find(servers), createHeader: () => '' }, ...gateways]
}

/** Starts the servers of every checkout, then runs `work` with all of them. */
async function withCheckouts([checkout, ...others]: string[], comparison: Comparison, work, known: Contestant[] = []) {
  if (checkout === undefined) return work(known)
  return withGateway(
    (servers) => withCheckouts(others, comparison, work, [...known, ...listContestants(servers, checkout, comparison)]),
    checkout,
  )
}

async function openContestant({ name, ...target }: Contestant, path: string, connections) {
  return { name, ...(await openTarget({ ...target, path }, connections)), values: [] as number[] }
}

/** Measures the contestants in turn. The first is the baseline. */
export async function compare(
  given: readonly Contestant[],
  path: string,
  rounds: number,
  [batch = 640, connections = 32, warmBatches = 40]: readonly number[] = [],
) {
  const contestants = await Promise.all(given.map((each) => openContestant(each, path, connections)))
  for (let round = -warmBatches; round < rounds; round += 1)
    for (const each of contestants) {
      const us = await measureBatch(each, batch)
      if (round >= 0) each.values.push(us)
    }
  closeAll(contestants)
  return toResult(contestants)
}

function toResult(results) {
  const [baseline] = results
  const toRatio = ({ values }) => median(values.map((us, round) => us / baseline.values[round]))
  return {
    columns: ['', 'lower quartile', 'median', `of the ${baseline.name}`],
    rows: results.map((each) => [
      each.name,
      `${quantile(each.values, 0.25).toFixed(1)} µs`,
      `${median(each.values).toFixed(1)} µs`,
      `${toRatio(each).toFixed(2)} ×`,
    ]),
    isGoalMet: true,
  }
}

const quantile = (values, share) => values.toSorted((a, b) => a - b)[Math.floor(values.length * share)]

/** How figures of this kind are made. */
export const METHOD =
  'all threads together, in alternating batches. The lower quartile is the steadiest figure on a busy machine. The ' +
  'ratio is the median of the ratios to the baseline within one round.'

export function createCpuBench({ title, about, ...comparison }: Comparison & { title: string; about: string }) {
  return {
    title,
    about: `${about}, ${METHOD} There is no goal.`,
    runs: 40,
    run(rounds, sizes?: readonly number[], checkouts: string[] = []) {
      const all = [OWN_CHECKOUT, ...checkouts.map((each) => resolve(each))]
      return withCheckouts(all, comparison, (given) => compare(given, comparison.path, rounds, sizes))
    },
  }
}
