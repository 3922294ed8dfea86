import { type Clock, SYSTEM_CLOCK } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'

/** One of several interchangeable upstream servers. */
export class Server<C> {
  readonly url: string
  readonly connections: C
  /** Requests in progress. */
  open = 0
  /** Whether the last request, that of a health check included, could connect. */
  isUp = true
  /** It is skipped until then, because a connection could not be established. */
  downUntilMs = 0
  /** Other servers are preferred until then, because it did not respond. */
  deprioritizedUntilMs = 0
  /** Requests that were sent again after it failed. */
  retries = 0
  /** Failures in a row. */
  failures = 0
  /** Sequence number of the last time it was chosen. */
  turn = 0

  constructor(url: string, connections: C) {
    this.url = url
    this.connections = connections
  }
}

const FIRST_PENALTY_MS = 250
const MAX_PENALTY_MS = 5000

export class Balancer<C> {
  readonly servers: readonly Server<C>[]
  readonly #clock: Clock
  #turns = 0

  constructor(entries: readonly (readonly [url: string, connections: C])[], clock: Clock = SYSTEM_CLOCK) {
    this.servers = entries.map(([url, connections]) => new Server(url, connections))
    this.#clock = clock
  }

  /**
   * The server with the fewest requests in progress; of equals, the one chosen longest ago. Servers that are down or
   * in `tried` are skipped, and deprioritized ones are used only when there is no other. If all are down, the one that
   * is due first gets one request at a time, to find out whether it is back. `undefined`: no server is left.
   */
  choose(tried: readonly Server<C>[]): Server<C> | undefined {
    const best = findBest(this.servers, tried, this.#clock.nowMs()) ?? findDueFirst(this.servers, tried)
    if (best) best.turn = this.#turns += 1
    return best
  }

  /** A connection could not be established: skip the server, longer with each failure in a row. */
  markDown(server: Server<C>): void {
    server.isUp = false
    const nowMs = this.#clock.nowMs()
    // of many requests that fail at the same time only the first counts
    if (server.downUntilMs <= nowMs) server.downUntilMs = nowMs + countFailure(server)
  }

  /** The response took too long, perhaps because of the request itself: prefer other servers, but never skip this one. */
  deprioritize(server: Server<C>): void {
    const nowMs = this.#clock.nowMs()
    if (server.deprioritizedUntilMs <= nowMs) server.deprioritizedUntilMs = nowMs + countFailure(server)
  }

  /** There was no valid response. The first time may be an idle connection that expired, so it only counts. */
  suspect(server: Server<C>): void {
    if (server.failures === 0) server.failures = 1
    else this.deprioritize(server)
  }

  /** The server responded. */
  markUp(server: Server<C>): void {
    server.isUp = true
    server.failures = 0
    server.downUntilMs = 0
    server.deprioritizedUntilMs = 0
  }

  /** The refusal for the client when no server is available, with the time to retry after. */
  createRefusal(): Refusal {
    const firstMs = Math.min(...this.servers.map(({ downUntilMs }) => downUntilMs))
    const seconds = Math.max(1, Math.ceil((firstMs - this.#clock.nowMs()) / 1000))
    return new Refusal('upstream_unavailable', { retryAfterSeconds: seconds })
  }
}

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
