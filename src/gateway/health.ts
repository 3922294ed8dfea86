/** The health of the upstream servers: the health check of a door, and the events an operator should see. */
import type { Clock } from '../base/clock.ts'
import { findMember, isJsonObject } from '../base/json.ts'
import type { SecurityEvents } from '../observe/security-events.ts'
import type { UpstreamBalancer, UpstreamServer } from './connections.ts'
import { readJsonBody } from './identity-probe.ts'
import { codeOf, isUnconnected } from './upstream-errors.ts'

export interface UpstreamHealth {
  /** `unready`: the server responds, but asks not to be used now. */
  readonly kind: 'up' | 'unready' | 'down'
  /** With which it asks so, such as `maintenance_mode`. */
  readonly status?: string
}

const UP: UpstreamHealth = Object.freeze({ kind: 'up' })
const DOWN: UpstreamHealth = Object.freeze({ kind: 'down' })

const TIMEOUT_MS = 5000

/** The health of the best server: one that is up is enough for the door. */
export async function checkHealth(balancer: UpstreamBalancer, path: string): Promise<UpstreamHealth> {
  const checks = balancer.servers.map((server) => checkServer(server, path).catch(() => DOWN))
  // does not wait for a server that does not respond
  const firstUp = Promise.any(checks.map(requireUp))
  return firstUp.catch(async () => (await Promise.all(checks)).find(({ kind }) => kind === 'unready') ?? DOWN)
}

async function requireUp(check: Promise<UpstreamHealth>): Promise<UpstreamHealth> {
  const health = await check
  if (health.kind !== 'up') throw new Error('not up')
  return health
}

async function checkServer(server: UpstreamServer, path: string): Promise<UpstreamHealth> {
  const { statusCode, body } = await ask(server, path)
  const json = await readJsonBody(body)
  if (statusCode >= 500) return DOWN
  const status = statusCode === 404 && isJsonObject(json) ? findMember(json, 'status') : undefined
  return typeof status === 'string' ? { kind: 'unready', status } : UP
}

/** Only the figures change: which server gets requests is decided by requests. */
async function ask(server: UpstreamServer, path: string) {
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  try {
    const response = await server.connections.requests.request({ method: 'GET', path, signal })
    server.isUp = true
    return response
  } catch (error) {
    if (error instanceof Error && isUnconnected(error)) server.isUp = false
    throw error
  }
}

/** What an operator should check, for each kind of problem. */
export interface UpstreamHints {
  readonly down: string
  readonly failed: string
  readonly rejected: string
  readonly open: string
}

/** Records events about the servers behind a door, each identified by its URL. */
export interface UpstreamWatch {
  /** No connection could be established. */
  onUnconnected(url: string, error: Error): void
  /** The server was connected, but did not send a valid response. */
  onFailed(url: string, error: Error): void
  /** The server rejected a signed identity. */
  onRejected(url: string, reason: string): void
  onResponded(url: string): void
}

export interface UpstreamWatchDeps {
  readonly events: SecurityEvents
  hints(): UpstreamHints
  /** Inspects the upstreams again. */
  inspectAgain(): void
  readonly clock: Clock
}

export function createUpstreamWatch({ events, hints, inspectAgain, clock }: UpstreamWatchDeps): UpstreamWatch {
  const downSinceMs = new Map<string, number>()
  return {
    onUnconnected(url, error) {
      if (!downSinceMs.has(url)) downSinceMs.set(url, clock.nowMs())
      events.record('upstream.down', { upstream: toPublic(url), reason: describe(error), check: hints().down })
    },
    onFailed: (url, error) =>
      events.record('upstream.failed', { upstream: toPublic(url), reason: describe(error), check: hints().failed }),
    onRejected(url, reason) {
      events.record('upstream.token-rejected', { upstream: toPublic(url), reason, check: hints().rejected })
      inspectAgain()
    },
    onResponded(url) {
      const sinceMs = downSinceMs.get(url)
      if (sinceMs === undefined) return
      downSinceMs.delete(url)
      const seconds = Math.round((clock.nowMs() - sinceMs) / 1000)
      events.record('upstream.up', { upstream: toPublic(url), seconds })
    },
  }
}

/** The code only: the message of a library may quote its input. */
const describe = (error: Error): string => codeOf(error) || error.name

function toPublic(url: string): string {
  const { protocol, host } = new URL(url)
  return `${protocol}//${host}`
}
