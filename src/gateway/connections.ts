/**
 * The connections to the upstream servers: how they are opened, pooled, replaced when the settings change, and which of
 * the servers gets a request.
 */
import { createRequire } from 'node:module'
import { isIP, Socket } from 'node:net'
import type { buildConnector, Pool } from 'undici'
import { type Clock, MONOTONIC_CLOCK } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import { MAX_UPSTREAM_HEADER_BYTES } from '../base/header-pairs.ts'
import { flagResets } from '../base/node-internals/connection-reset.ts'
import { reportWriteErrorsLate } from '../base/node-internals/late-write-errors.ts'
import type { UpstreamFigures } from '../observe/part-metrics.ts'

export interface PoolLimits {
  readonly connectTimeoutMs: number
  readonly firstByteTimeoutMs: number
  readonly maxConnections: number
  /** PEM of the certificate authorities to trust instead of the system's; empty: those of the system. */
  readonly authorities: string
}

export interface ConnectionSettings {
  readonly urls: readonly string[]
  readonly limits: PoolLimits
}

/** The connections to one server. Feeds have their own, so that thousands of them do not use up those of requests. */
export interface Connections {
  readonly requests: Pool
  readonly feeds: Pool
  /** The host name of the URL, for TLS. */
  readonly servername: string
}

/** The figures of one server, for metrics. */
export type ServerFigures = Omit<UpstreamFigures, 'door'>

export function toFigures({ url, connections, isUp, open, retries }: UpstreamServer): ServerFigures {
  const connected = connections.requests.stats.connected + connections.feeds.stats.connected
  return { url: toPublicUrl(url), isUp, connections: connected, requests: open, retries }
}

/** A URL without user and password. */
export const toPublicUrl = (url: string): string => new URL(url).origin

export function createLiveConnections(settings: () => ConnectionSettings) {
  let seen: ConnectionSettings | undefined
  let key = ''
  let balancer: Balancer = new Balancer([])
  return {
    /** The servers of the current settings. Requests in progress on servers that were removed are finished. */
    get(): Balancer {
      const current = settings()
      if (current === seen) return balancer
      seen = current
      const { urls, limits } = current
      const nextKey = JSON.stringify({ urls, limits })
      if (nextKey === key) return balancer
      key = nextKey
      void endPools(balancer, (pool) => pool.close())
      balancer = new Balancer(urls.map((url) => [url, openConnections(url, limits)] as const))
      return balancer
    },
    close: () => endPools(balancer, (pool) => pool.destroy()),
  }
}

/** Shorter than common servers keep idle connections, so that Cardea closes them first. */
const KEEP_ALIVE_MS = 4000

function openConnections(url: string, limits: PoolLimits): Connections {
  const connect = createConnector(new URL(url), limits)
  return {
    requests: createPool(url, limits, connect),
    feeds: createPool(url, limits, connect),
    servername: new URL(url).hostname,
  }
}

async function endPools({ servers }: Balancer, end: (pool: Pool) => Promise<void>): Promise<void> {
  const pools = servers.flatMap(({ connections }) => [connections.requests, connections.feeds])
  await Promise.allSettled(pools.map(end))
}

const require = createRequire(import.meta.url)

/** Loaded with the first pool: loading undici takes about 85 ms (`require` alone), and a door without an upstream does not need it. */
const loadUndici = (): typeof import('undici') => require('undici')

const createPool = (url: string, limits: PoolLimits, connect: buildConnector.connector): Pool =>
  new (loadUndici().Pool)(url, {
    connections: limits.maxConnections,
    // a pipelined request would wait for the one before it, and fail with it
    pipelining: 1,
    allowH2: false,
    // for health checks and probes; forwarded requests have the timers of the response pipe
    headersTimeout: limits.firstByteTimeoutMs,
    bodyTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: MAX_UPSTREAM_HEADER_BYTES,
    connect,
  })

/** Connects to the server of this URL. Its certificate is verified for the URL's name, whatever `Host` a client sends. */
function createConnector(url: URL, { connectTimeoutMs, authorities }: PoolLimits): buildConnector.connector {
  const connect = loadUndici().buildConnector({
    // undici's own timer has a resolution of half a second
    timeout: 0,
    allowH2: false,
    rejectUnauthorized: true,
    ...(authorities === '' ? {} : { ca: authorities }),
  })
  const tlsName = findTlsName(url)
  return (options, callback) => {
    // undici derives this name from the client's `Host`
    const { servername: _requested, ...others } = options
    const target = tlsName === undefined ? others : { ...others, servername: tlsName }
    return limitConnecting(
      connectTimeoutMs,
      (done) => connect(target, done),
      (...outcome) => {
        const [, socket] = outcome
        if (socket) reportWriteErrorsLate(socket)
        flagResets(socket, () => callback(...outcome))
      },
    )
  }
}

function limitConnecting(
  ms: number,
  connect: (done: buildConnector.Callback) => unknown,
  done: buildConnector.Callback,
) {
  const socket = connect((...result) => {
    clearTimeout(timer)
    done(...result)
  })
  const timer = setTimeout(() => {
    // a connector returns the socket it opens, which its types do not say
    if (socket instanceof Socket) socket.destroy(createConnectTimeout())
  }, ms)
  return socket
}

const createConnectTimeout = (): Error =>
  Object.assign(new Error('connecting to the upstream server took too long'), { code: 'ERR_UPSTREAM_CONNECT_TIMEOUT' })

/** The server name TLS asks for. `undefined` for an address, which is verified as an address. */
function findTlsName(url: URL): string | undefined {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  return isIP(host) === 0 ? host : undefined
}

/** One of several interchangeable upstream servers. */
export class UpstreamServer {
  readonly url: string
  readonly connections: Connections
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

  constructor(url: string, connections: Connections) {
    this.url = url
    this.connections = connections
  }
}

type Servers = readonly UpstreamServer[]

const FIRST_PENALTY_MS = 250
const MAX_PENALTY_MS = 5000

export class Balancer {
  readonly servers: Servers
  readonly #clock: Clock
  #turns = 0

  constructor(entries: readonly (readonly [url: string, connections: Connections])[], clock: Clock = MONOTONIC_CLOCK) {
    this.servers = entries.map(([url, connections]) => new UpstreamServer(url, connections))
    this.#clock = clock
  }

  /**
   * The server with the fewest requests in progress; of equals, the one chosen longest ago. Servers that are down or
   * in `tried` are skipped, and deprioritized ones are used only when there is no other. If all are down, the one that
   * is due first gets one request at a time, to find out whether it is back. `undefined`: no server is left.
   */
  choose(tried: Servers): UpstreamServer | undefined {
    const best = findBest(this.servers, tried, this.#clock.nowMs()) ?? findDueFirst(this.servers, tried)
    if (best) best.turn = this.#turns += 1
    return best
  }

  /** A connection could not be established: skip the server, longer with each failure in a row. */
  markDown(server: UpstreamServer): void {
    server.isUp = false
    const nowMs = this.#clock.nowMs()
    // of many requests that fail at the same time only the first counts
    if (server.downUntilMs <= nowMs) server.downUntilMs = nowMs + countFailure(server)
  }

  /** The response took too long, perhaps because of the request itself: prefer other servers, but never skip this one. */
  deprioritize(server: UpstreamServer): void {
    const nowMs = this.#clock.nowMs()
    if (server.deprioritizedUntilMs <= nowMs) server.deprioritizedUntilMs = nowMs + countFailure(server)
  }

  /** There was no valid response. The first time may be an idle connection that expired, so it only counts. */
  suspect(server: UpstreamServer): void {
    if (server.failures === 0) server.failures = 1
    else this.deprioritize(server)
  }

  /** The server responded. */
  markUp(server: UpstreamServer): void {
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
function countFailure(server: UpstreamServer): number {
  server.failures += 1
  return Math.min(FIRST_PENALTY_MS * 2 ** (server.failures - 1), MAX_PENALTY_MS)
}

/** The best of the servers that are not down and were not tried. */
function findBest(servers: Servers, tried: Servers, nowMs: number): UpstreamServer | undefined {
  let best: UpstreamServer | undefined
  for (const server of servers) {
    if (tried.includes(server) || server.downUntilMs > nowMs) continue
    if (!best || compare(server, best, nowMs) < 0) best = server
  }
  return best
}

function compare(a: UpstreamServer, b: UpstreamServer, nowMs: number): number {
  const isDeprioritized = (server: UpstreamServer) => Number(server.deprioritizedUntilMs > nowMs)
  return isDeprioritized(a) - isDeprioritized(b) || a.open - b.open || a.turn - b.turn
}

/** Only idle servers: one with a request in progress is being tried by that request. */
function findDueFirst(servers: Servers, tried: Servers): UpstreamServer | undefined {
  const idle = servers.filter((server) => server.open === 0 && !tried.includes(server))
  return idle.sort((a, b) => a.downUntilMs - b.downUntilMs)[0]
}
