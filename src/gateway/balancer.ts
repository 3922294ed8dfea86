import type { Clock } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'

/** One of several interchangeable upstream servers. */
export interface Server<C> {
  readonly url: string
  readonly connections: C
  /** Requests in progress. */
  open: number
  /** Whether the last request, that of a health check included, could connect. */
  isUp: boolean
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

export interface Balancer<C> {
  readonly servers: readonly Server<C>[]
  /**
   * The server with the fewest requests in progress; of equals, the one chosen longest ago. Servers that are down or
   * in `tried` are skipped, and deprioritized ones are used only when there is no other. If all are down, the one that
   * is due first gets one request at a time, to find out whether it is back. `undefined`: no server is left.
   */
  choose(tried: readonly Server<C>[]): Server<C> | undefined
  /** A connection could not be established: skip the server, longer with each failure in a row. */
  markDown(server: Server<C>): void
  /** The response took too long, perhaps because of the request itself: prefer other servers, but never skip this one. */
  deprioritize(server: Server<C>): void
  /** There was no valid response. The first time may be an idle connection that expired, so it only counts. */
  suspect(server: Server<C>): void
  /** The server responded. */
  markUp(server: Server<C>): void
  /** The refusal for the client when no server is available, with the time to retry after. */
  createRefusal(): Refusal
}

const FIRST_PENALTY_MS = 250
const MAX_PENALTY_MS = 5000

export function createBalancer<C>(
  entries: readonly (readonly [url: string, connections: C])[],
  clock: Clock,
): Balancer<C> {
  const servers = entries.map(([url, connections]) => createServer(url, connections))
  let turns = 0
  const deprioritize = (server: Server<C>): void => {
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
      server.isUp = false
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
      server.isUp = true
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

const createServer = <C>(url: string, connections: C): Server<C> => ({
  url,
  connections,
  open: 0,
  isUp: true,
  downUntilMs: 0,
  deprioritizedUntilMs: 0,
  retries: 0,
  failures: 0,
  turn: 0,
})

/** Counts one more failure and returns the penalty for it. */
function countFailure<C>(server: Server<C>): number {
  server.failures += 1
  return Math.min(FIRST_PENALTY_MS * 2 ** (server.failures - 1), MAX_PENALTY_MS)
}

/** Of the servers that are not down. */
function findBest<C>(servers: readonly Server<C>[], tried: readonly Server<C>[], nowMs: number): Server<C> | undefined {
  let best: Server<C> | undefined
  for (const server of servers) {
    if (tried.includes(server) || server.downUntilMs > nowMs) continue
    if (!best || compare(server, best, nowMs) < 0) best = server
  }
  return best
}

function compare<C>(a: Server<C>, b: Server<C>, nowMs: number): number {
  const isDeprioritized = (server: Server<C>) => Number(server.deprioritizedUntilMs > nowMs)
  return isDeprioritized(a) - isDeprioritized(b) || a.open - b.open || a.turn - b.turn
}

/** Only idle servers: one with a request in progress is being tried by that request. */
function findDueFirst<C>(servers: readonly Server<C>[], tried: readonly Server<C>[]): Server<C> | undefined {
  const idle = servers.filter((server) => server.open === 0 && !tried.includes(server))
  return idle.sort((a, b) => a.downUntilMs - b.downUntilMs)[0]
}
