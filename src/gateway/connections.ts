/** The connections to the upstream servers: how they are opened, pooled, and replaced when the settings change. */
import { createRequire } from 'node:module'
import { isIP, Socket } from 'node:net'
import type { buildConnector, Pool } from 'undici'
import { MAX_UPSTREAM_HEADER_BYTES } from '../base/header-pairs.ts'
import { flagResets } from '../base/node-internals/connection-reset.ts'
import { reportWriteErrorsLate } from '../base/node-internals/late-write-errors.ts'
import type { UpstreamFigures } from '../observe/part-metrics.ts'
import { Balancer, type Server } from './balancer.ts'

export interface ConnectionLimits {
  readonly connectTimeoutMs: number
  readonly firstByteTimeoutMs: number
  readonly maxConnections: number
  /** PEM of the certificate authorities to trust instead of the system's; empty: those of the system. */
  readonly authorities: string
}

export interface ConnectionSettings {
  readonly urls: readonly string[]
  readonly limits: ConnectionLimits
}

/** The connections to one server. Feeds have their own, so that thousands of them do not use up those of requests. */
export interface Connections {
  readonly requests: Pool
  readonly feeds: Pool
  /** The host name of the URL, for TLS. */
  readonly servername: string
}

export type UpstreamServer = Server<Connections>
export type UpstreamBalancer = Balancer<Connections>

/** The figures of one server, for metrics. */
export type ServerFigures = Omit<UpstreamFigures, 'door'>

export function toFigures({ url, connections, isUp, open, retries }: UpstreamServer): ServerFigures {
  const connected = connections.requests.stats.connected + connections.feeds.stats.connected
  return { url: toPublicUrl(url), isUp, connections: connected, requests: open, retries }
}

/** A URL without user and password. */
export function toPublicUrl(url: string): string {
  const { protocol, host } = new URL(url)
  return `${protocol}//${host}`
}

export function createLiveConnections(settings: () => ConnectionSettings) {
  let seen: ConnectionSettings | undefined
  let key = ''
  let balancer: UpstreamBalancer = new Balancer([])
  return {
    /** The servers of the current settings. Requests in progress on servers that were removed are finished. */
    get(): UpstreamBalancer {
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

function openConnections(url: string, limits: ConnectionLimits): Connections {
  const connect = createConnector(new URL(url), limits)
  return {
    requests: createPool(url, limits, connect),
    feeds: createPool(url, limits, connect),
    servername: new URL(url).hostname,
  }
}

async function endPools({ servers }: UpstreamBalancer, end: (pool: Pool) => Promise<void>): Promise<void> {
  const pools = servers.flatMap(({ connections }) => [connections.requests, connections.feeds])
  await Promise.allSettled(pools.map(end))
}

const require = createRequire(import.meta.url)

/** Loaded with the first pool: loading undici takes about 85 ms (`require` alone), and a door without an upstream does not need it. */
const loadUndici = (): typeof import('undici') => require('undici')

function createPool(url: string, limits: ConnectionLimits, connect: buildConnector.connector): Pool {
  return new (loadUndici().Pool)(url, {
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
}

/** Connects to the server of this URL. Its certificate is verified for the URL's name, whatever `Host` a client sends. */
function createConnector(url: URL, { connectTimeoutMs, authorities }: ConnectionLimits): buildConnector.connector {
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
