/** The health of the upstream servers: the health check of a door, and the events an operator should see. */
import { findMember, isJsonObject } from '../base/json.ts'
import type { SecurityEvents } from '../observe/security-events.ts'
import { toPublicUrl, type UpstreamBalancer, type UpstreamServer } from './connections.ts'
import type { UpstreamHints } from './hints.ts'
import { ask } from './identity-probe.ts'
import { describeError, isUnconnected } from './upstream-errors.ts'

export interface UpstreamHealth {
  /** `unready`: the server responds, but asks not to be used now. */
  readonly kind: 'up' | 'unready' | 'down'
  /** With which it asks so, such as `maintenance_mode`. */
  readonly status?: string
}

const UP: UpstreamHealth = Object.freeze({ kind: 'up' })
const DOWN: UpstreamHealth = Object.freeze({ kind: 'down' })

/** The health of the best server: one that is up is enough for the door. */
export async function checkHealth(balancer: UpstreamBalancer, path: string): Promise<UpstreamHealth> {
  const checks = balancer.servers.map((server) => checkServer(server, path).catch(() => DOWN))
  const requireUp = (health: UpstreamHealth) => (health.kind === 'up' ? health : Promise.reject(new Error('not up')))
  // does not wait for a server that does not respond
  const firstUp = Promise.any(checks.map((check) => check.then(requireUp)))
  return firstUp.catch(async () => (await Promise.all(checks)).find(({ kind }) => kind === 'unready') ?? DOWN)
}

async function checkServer(server: UpstreamServer, path: string): Promise<UpstreamHealth> {
  const { status, body } = await ask(server, path).catch((error) => {
    if (isUnconnected(error)) server.isUp = false
    throw error
  })
  // only the figures change: which server gets requests is decided by requests
  server.isUp = true
  if (status >= 500) return DOWN
  const named = status === 404 && isJsonObject(body) ? findMember(body, 'status') : undefined
  return typeof named === 'string' ? { kind: 'unready', status: named } : UP
}

export type UpstreamWatch = ReturnType<typeof createUpstreamWatch>

/** Records events about the servers behind a door, each identified by its URL. `inspectAgain` inspects the upstreams. */
export function createUpstreamWatch(events: SecurityEvents, hints: () => UpstreamHints, inspectAgain: () => void) {
  const downSinceMs = new Map<string, number>()
  return {
    /** No connection could be established. */
    onUnconnected(url: string, error: Error): void {
      if (!downSinceMs.has(url)) downSinceMs.set(url, Date.now())
      events.record('upstream.down', {
        upstream: toPublicUrl(url),
        reason: describeError(error),
        check: hints().unreachable,
      })
    },
    /** The server was connected, but did not send a valid response. */
    onFailed: (url: string, error: Error): void =>
      events.record('upstream.failed', {
        upstream: toPublicUrl(url),
        reason: describeError(error),
        check: hints().failed,
      }),
    /** The server rejected a signed identity. */
    onRejected(url: string, reason: string): void {
      const check = hints()['identity rejected']
      events.record('upstream.token-rejected', { upstream: toPublicUrl(url), reason, check })
      inspectAgain()
    },
    onResponded(url: string): void {
      const sinceMs = downSinceMs.get(url)
      if (sinceMs === undefined) return
      downSinceMs.delete(url)
      const seconds = Math.round((Date.now() - sinceMs) / 1000)
      events.record('upstream.up', { upstream: toPublicUrl(url), seconds })
    },
  }
}
