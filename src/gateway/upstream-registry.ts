import type { Log } from '../base/log.ts'
import { type InspectedUpstream, UpstreamReadiness } from './readiness.ts'
import type { Upstream } from './upstream.ts'

/** All upstreams of the doors and services. */
export function createUpstreamRegistry(log: Log) {
  const upstreams: Upstream[] = []
  const inspected: InspectedUpstream[] = []
  const readiness = new UpstreamReadiness(inspected, log)
  return {
    readiness,
    /** Registers an upstream, which `close` then closes. With `inspection`, its readiness is tracked. */
    register(upstream: Upstream, inspection?: Omit<InspectedUpstream, 'upstream'>): Upstream {
      upstreams.push(upstream)
      if (inspection) inspected.push({ ...inspection, upstream })
      return upstream
    },
    /** The upstream of a door; `undefined`: none is configured. */
    find: (door: string): Upstream | undefined => {
      const upstream = upstreams.find((each) => inspected.some((one) => one.upstream === each && one.door === door))
      return upstream?.isSet() ? upstream : undefined
    },
    /** The figures of all upstream servers now; those of services under the door `service`. */
    listServers: () =>
      upstreams.flatMap((upstream) => {
        const door = inspected.find((each) => each.upstream === upstream)?.door ?? 'service'
        return upstream.listServers().map((server) => ({ ...server, door }))
      }),
    async close(): Promise<void> {
      readiness.stop()
      await Promise.all(upstreams.map((upstream) => upstream.close()))
    },
  }
}
