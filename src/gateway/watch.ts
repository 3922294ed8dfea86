import type { Clock } from '../base/clock.ts'
import type { SecurityEvents } from '../observe/security-events.ts'
import { codeOf } from './upstream-errors.ts'

/** What an operator should check, by what is wrong. */
export interface UpstreamHints {
  readonly down: string
  readonly failed: string
  readonly rejected: string
}

/** Records what is wrong with the servers behind a door. Each server is told by its URL. */
export interface UpstreamWatch {
  /** No connection came about. */
  onUnconnected(url: string, error: Error): void
  /** A connection came about, but no valid response. */
  onFailed(url: string, error: Error): void
  /** The signature of an identity was not accepted. */
  onRejected(url: string, reason: string): void
  onResponded(url: string): void
}

export function createUpstreamWatch(events: SecurityEvents, hints: () => UpstreamHints, clock: Clock): UpstreamWatch {
  const downSinceMs = new Map<string, number>()
  return {
    onUnconnected(url, error) {
      if (!downSinceMs.has(url)) downSinceMs.set(url, clock.nowMs())
      events.record('upstream.down', { upstream: toPublic(url), reason: describe(error), check: hints().down })
    },
    onFailed: (url, error) =>
      events.record('upstream.failed', { upstream: toPublic(url), reason: describe(error), check: hints().failed }),
    onRejected: (url, reason) =>
      events.record('upstream.token-rejected', { upstream: toPublic(url), reason, check: hints().rejected }),
    onResponded(url) {
      // asked after every response
      const sinceMs = downSinceMs.size === 0 ? undefined : downSinceMs.get(url)
      if (sinceMs === undefined) return
      downSinceMs.delete(url)
      const seconds = Math.round((clock.nowMs() - sinceMs) / 1000)
      events.record('upstream.up', { upstream: toPublic(url), seconds })
    },
  }
}

/** The code: the message of a library may quote what it was given. */
const describe = (error: Error): string => codeOf(error) || error.name

function toPublic(url: string): string {
  const { protocol, host } = new URL(url)
  return `${protocol}//${host}`
}
