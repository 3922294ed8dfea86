import type { Clock } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'

/** One of several interchangeable upstream servers. */
export interface Server<P> {
  readonly url: string
  readonly pool: P
  /** Requests in progress. */
  open: number
  /** It is skipped until then, because a connection could not be established. */
  downUntilMs: number
  /** Other servers are preferred until then, because it did not respond. */
  deprioritizedUntilMs: number
  /** Requests that were sent again after it failed. */
  retries: number
  /** Failures in a row. */
  failures: number
  /** Sequence number of the last time it was chosen. */
  turn: number
}

export interface Balancer<P> {
  readonly servers: readonly Server<P>[]
  /**
   * The server with the fewest requests in progress; of equals, the one chosen longest ago. Servers that are down or
   * in `tried` are skipped, and deprioritized ones are used only when there is no other. If all are down, the one that
   * is due first gets one request at a time, to find out whether it is back. `undefined`: no server is left.
   */
  choose(tried: readonly Server<P>[]): Server<P> | undefined
  /** A connection could not be established: skip the server, longer with each failure in a row. */
  markDown(server: Server<P>): void
  /** The response took too long, perhaps because of the request itself: prefer other servers, but never skip this one. */
  deprioritize(server: Server<P>): void
  /** The connection broke before a response. The first time may be an idle connection that expired, so it only counts. */
  suspect(server: Server<P>): void
  /** The server responded. */
  markUp(server: Server<P>): void
  /** The refusal for the client when no server is available, with the time to retry after. */
  createRefusal(): Refusal
}

const FIRST_PENALTY_MS = 250
const MAX_PENALTY_MS = 5000

export function createBalancer<P>(pools: readonly (readonly [url: string, pool: P])[], clock: Clock): Balancer<P> {
  const servers = pools.map(([url, pool]) => createServer(url, pool))
  let turns = 0
  const deprioritize = (server: Server<P>): void => {
    if (server.deprioritizedUntilMs > clock.nowMs()) return
    server.deprioritizedUntilMs = clock.nowMs() + countFailure(server)
  }
  return {
    servers,
    choose(tried) {
      const best = findBest(servers, tried, clock.nowMs()) ?? findDueFirst(servers, tried)
      if (best) best.turn = turns += 1
      return best
    },
    markDown(server) {
      // of many requests that fail at the same time only the first counts
      if (server.downUntilMs > clock.nowMs()) return
      server.downUntilMs = clock.nowMs() + countFailure(server)
    },
    deprioritize,
    suspect(server) {
      if (server.failures === 0) server.failures = 1
      else deprioritize(server)
    },
    markUp(server) {
      server.failures = 0
      server.downUntilMs = 0
      server.deprioritizedUntilMs = 0
    },
    createRefusal() {
      const firstMs = Math.min(...servers.map(({ downUntilMs }) => downUntilMs))
      const seconds = Math.max(1, Math.ceil((firstMs - clock.nowMs()) / 1000))
      return new Refusal('upstream_unavailable', { retryAfterSeconds: seconds })
    },
  }
}

const createServer = <P>(url: string, pool: P): Server<P> => ({
  url,
  pool,
  open: 0,
  downUntilMs: 0,
  deprioritizedUntilMs: 0,
  retries: 0,
  failures: 0,
  turn: 0,
})

/** Counts one more failure and returns the penalty for it. */
function countFailure<P>(server: Server<P>): number {
  server.failures += 1
  return Math.min(FIRST_PENALTY_MS * 2 ** (server.failures - 1), MAX_PENALTY_MS)
}

/** Of the servers that are not down. */
function findBest<P>(servers: readonly Server<P>[], tried: readonly Server<P>[], nowMs: number): Server<P> | undefined {
  let best: Server<P> | undefined
  for (const server of servers) {
    if (tried.includes(server) || server.downUntilMs > nowMs) continue
    if (!best || compare(server, best, nowMs) < 0) best = server
  }
  return best
}

function compare<P>(a: Server<P>, b: Server<P>, nowMs: number): number {
  const isDeprioritized = (server: Server<P>) => Number(server.deprioritizedUntilMs > nowMs)
  return isDeprioritized(a) - isDeprioritized(b) || a.open - b.open || a.turn - b.turn
}

/** Only idle servers: one with a request in progress is being tried by that request. */
function findDueFirst<P>(servers: readonly Server<P>[], tried: readonly Server<P>[]): Server<P> | undefined {
  const idle = servers.filter((server) => server.open === 0 && !tried.includes(server))
  return idle.sort((a, b) => a.downUntilMs - b.downUntilMs)[0]
}
