import type { Log } from '../base/log.ts'
import type { ServerFigures } from './connections.ts'
import { createReadiness, type InspectedUpstream, type UpstreamReadiness } from './readiness.ts'
import type { Upstream } from './upstream.ts'

/** All upstreams of the doors and services. */
export interface UpstreamRegistry {
  readonly readiness: UpstreamReadiness
  /** Registers an upstream, which `close` then closes. With `inspection`, its readiness is tracked. */
  register(upstream: Upstream, inspection?: Omit<InspectedUpstream, 'upstream'>): Upstream
  /** The figures of all upstream servers now; those of services under the door `service`. */
  listServers(): readonly (ServerFigures & { readonly door: string })[]
  close(): Promise<void>
}

export function createUpstreamRegistry(log: Log): UpstreamRegistry {
  const upstreams: Upstream[] = []
  const inspected: InspectedUpstream[] = []
  const readiness = createReadiness({ upstreams: inspected, log })
  return {
    readiness,
    register(upstream, inspection) {
      upstreams.push(upstream)
      if (inspection) inspected.push({ ...inspection, upstream })
      return upstream
    },
    listServers: () =>
      upstreams.flatMap((upstream) => {
        const door = inspected.find((each) => each.upstream === upstream)?.door ?? 'service'
        return upstream.listServers().map((server) => ({ ...server, door }))
      }),
    async close() {
      readiness.stop()
      await Promise.all(upstreams.map((upstream) => upstream.close()))
    },
  }
}
