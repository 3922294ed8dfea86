// What the doors share to reach their upstreams: the open streams, and the keys that sign for upstreams and services.
import { toGraceSeconds } from '../auth/session/secrets.ts'
import { nowSeconds, SYSTEM_CLOCK } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { GATE_AUDIENCE } from '../config/open-sections.ts'
import { ADMIN_API_ERRORS } from '../dialects/admin-api/errors.ts'
import type { ForwardAuthDeps } from '../dialects/forward-auth/mount.ts'
import type { Directory } from '../directory/directory.ts'
import type { Authenticated } from '../directory/identity.ts'
import type { ServerFigures } from '../gateway/connections.ts'
import { identityHeadersForService } from '../gateway/identity-headers.ts'
import { createOpenStreams, type OpenStreams } from '../gateway/open-streams.ts'
import { createReadiness, type InspectedUpstream, type UpstreamReadiness } from '../gateway/readiness.ts'
import type { Upstream } from '../gateway/upstream.ts'
import type { HeaderPair, RequestContext } from '../http/request-context.ts'
import type { LiveRing } from '../keys/live-ring.ts'
import type { LiveConfig } from '../live-config/live-config.ts'
import { openUpstreamSecrets, type TokenSecrets } from '../live-config/secret-rings.ts'
import { openServiceKey, type ServiceKey } from '../live-config/service-key.ts'

export interface Gateway {
  readonly streams: OpenStreams
  /** Signs for ArangoDB; `undefined` where no secret is configured. */
  readonly ring: LiveRing | undefined
  /** Signs for services. */
  readonly serviceKey: ServiceKey
  readonly forwardAuth: Pick<ForwardAuthDeps, 'keys' | 'toIdentityHeaders' | 'statusOf'>
  /** Wraps `identify` so that the request records the stream epoch before it is authenticated. */
  withStreamEpoch(identify: Identify): Identify
  /** Registers an upstream, to be closed with the gateway; with a door, its readiness is known. */
  register(upstream: Upstream, inspection?: Omit<InspectedUpstream, 'upstream'>): Upstream
  readonly readiness: UpstreamReadiness
  /** The figures of all upstream servers now; those of services under the door `service`. */
  listServers(): readonly (ServerFigures & { readonly door: string })[]
  close(): Promise<void>
}

export type Identify = (context: RequestContext) => Promise<Authenticated>

export interface GatewayDeps {
  readonly liveConfig: LiveConfig
  readonly directory: Directory
  readonly tokenSecrets: TokenSecrets
  readonly log: Log
}

/** How often streams with an expired credential are ended. */
const EXPIRY_CHECK_MS = 1000

export async function openGateway(deps: GatewayDeps): Promise<Gateway> {
  const { liveConfig, log } = deps
  const streams = createOpenStreams()
  const ring = await openUpstreamSecrets(liveConfig, log)
  const serviceKey = openServiceKey(liveConfig)
  const upstreams: Upstream[] = []
  const inspected: InspectedUpstream[] = []
  const readiness = createReadiness({ upstreams: inspected, log })
  const stopWatching = watchStreams(streams, deps)
  return {
    streams,
    ring,
    serviceKey,
    forwardAuth: toForwardAuth(serviceKey),
    withStreamEpoch: (identify) => (context) => {
      context.authenticatedAt ??= streams.epoch
      return identify(context)
    },
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
      stopWatching()
      ring?.stop()
      await Promise.all(upstreams.map((upstream) => upstream.close()))
    },
  }
}

/** Ends or revalidates streams when users, keys, options or the time change. Returns a function that stops it. */
function watchStreams(streams: OpenStreams, { liveConfig, directory, tokenSecrets }: GatewayDeps): () => void {
  const stopListening = directory.onRevoked(streams.end)
  // In a microtask, after every other listener: streams must be revalidated with the new keys.
  liveConfig.onChange(() => queueMicrotask(streams.revalidateAll))
  tokenSecrets.onReload(() => streams.revalidateAll())
  const retirement = followRetirement(liveConfig)
  const timer = setInterval(() => {
    streams.expire(nowSeconds(SYSTEM_CLOCK))
    if (retirement.isDue()) streams.revalidateAll()
  }, EXPIRY_CHECK_MS).unref()
  return () => {
    clearInterval(timer)
    stopListening()
  }
}

function toForwardAuth(key: ServiceKey): Gateway['forwardAuth'] {
  const toHeaders = identityHeadersForService({ signer: () => key.signer, service: GATE_AUDIENCE, clock: SYSTEM_CLOCK })
  return {
    keys: () => [key.jwk],
    toIdentityHeaders: (authenticated) => toPairs(toHeaders(authenticated).headers),
    statusOf: (code) => ADMIN_API_ERRORS[code].status,
  }
}

const toPairs = (flat: readonly string[]): readonly HeaderPair[] =>
  flat.flatMap((name, index) => (index % 2 === 0 ? [[name, flat[index + 1] ?? ''] as const] : []))

/** Tells when cookies signed with a replaced secret stop verifying: streams opened with them end then. */
function followRetirement(liveConfig: LiveConfig): { isDue(): boolean } {
  const values = () => liveConfig.get().settings.values.chttpd_auth
  let { secret } = values()
  let ends: number[] = []
  liveConfig.onChange(() => {
    if (values().secret === secret) return
    secret = values().secret
    // one second more: a verification may have read the clock slightly later
    ends.push(nowSeconds(SYSTEM_CLOCK) + toGraceSeconds(values().timeout) + 1)
  })
  return {
    isDue() {
      if (ends.length === 0) return false
      const now = nowSeconds(SYSTEM_CLOCK)
      const later = ends.filter((end) => end > now)
      const isDue = later.length < ends.length
      ends = later
      return isDue
    },
  }
}
