import { createRequire } from 'node:module'
import { isIP, Socket } from 'node:net'
import type { buildConnector, Pool } from 'undici'
import { tellBreaks } from './breaks.ts'
import { createConnectTimeout } from './upstream-errors.ts'

export interface PoolLimits {
  readonly connectTimeoutMs: number
  readonly firstByteTimeoutMs: number
  readonly maxConnections: number
  /** PEM of authorities believed beside those of the system; empty: none. */
  readonly authorities: string
}

/** Below what common servers keep a connection for, so that it is we who close it. */
export const KEEP_ALIVE_MS = 4000
export const MAX_HEADER_BYTES = 65_536

const require = createRequire(import.meta.url)

/** Loaded with the first pool: it takes a third of a start, and most doors have nothing behind them. */
const loadClient = (): typeof import('undici') => require('undici')

/** Connections to one server. Its certificate is verified for the name in the URL, whatever host a client asks for. */
export function createPool(url: string, limits: PoolLimits): Pool {
  return new (loadClient().Pool)(url, {
    connections: limits.maxConnections,
    // a request behind another on one connection would wait for it, and fail with it
    pipelining: 1,
    allowH2: false,
    headersTimeout: limits.firstByteTimeoutMs,
    bodyTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
    connect: tellBreaks(createConnector(new URL(url), limits)),
  })
}

/** Connects to the server of this URL: for TLS, once its certificate is verified. */
export function createConnector(url: URL, { connectTimeoutMs, authorities }: PoolLimits): buildConnector.connector {
  const connect = loadClient().buildConnector({
    // its own clock goes by half seconds
    timeout: 0,
    allowH2: false,
    rejectUnauthorized: true,
    ...(authorities === '' ? {} : { ca: authorities }),
  })
  const { servername } = serverNameOf(url)
  return (options, callback) => {
    // `options` name the host the request is for, which is the client's word
    const { servername: _asked, ...rest } = options
    const asked = servername === undefined ? rest : { ...rest, servername }
    return limitConnecting(connectTimeoutMs, (done) => connect(asked, done), callback)
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
    // its types say nothing of it: a connector returns the socket it opens
    if (socket instanceof Socket) socket.destroy(createConnectTimeout())
  }, ms)
  return socket
}

/** What TLS asks for. An address is verified as an address, and never sent as a name. */
function serverNameOf(url: URL): { readonly servername?: string } {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  return isIP(host) === 0 ? { servername: host } : {}
}
