// What both doors share of the way to the servers behind them: whose streams are open, and what signs for whom.

import { toGraceSeconds } from '../auth/session/secrets.ts'
import { nowSeconds, SYSTEM_CLOCK } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import type { Directory } from '../directory/directory.ts'
import type { Authenticated } from '../directory/identity.ts'
import { createOpenStreams, type OpenStreams } from '../gateway/open-streams.ts'
import type { Upstream } from '../gateway/upstream.ts'
import type { RequestContext } from '../http/request-context.ts'
import type { LiveRing } from '../keys/live-ring.ts'
import type { LiveConfig } from '../live-config/live-config.ts'
import { openServiceKey, type ServiceKey } from '../live-config/service-key.ts'
import type { TokenSecrets } from '../live-config/token-secrets.ts'
import { openUpstreamSecrets } from '../live-config/upstream-secrets.ts'

export interface Gateway {
  readonly streams: OpenStreams
  /** What signs for the multi-model database; `undefined` where nothing is to. */
  readonly ring: LiveRing | undefined
  /** What signs for services. */
  readonly serviceKey: ServiceKey
  /** The same function, which notes how much had ended before it looked. */
  note(identify: Identify): Identify
  /** Closed with everything else. */
  adopt(upstream: Upstream): Upstream
  close(): Promise<void>
}

export type Identify = (context: RequestContext) => MaybePromise<Authenticated>

export interface GatewayDeps {
  readonly liveConfig: LiveConfig
  readonly directory: Directory
  readonly tokenSecrets: TokenSecrets
  readonly log: Log
}

/** How often it is looked which tokens have run out. */
const LOOK_MS = 1000

export async function openGateway(deps: GatewayDeps): Promise<Gateway> {
  const { liveConfig, directory, tokenSecrets, log } = deps
  const streams = createOpenStreams()
  const ring = await openUpstreamSecrets(liveConfig, log)
  const serviceKey = openServiceKey(liveConfig)
  const upstreams: Upstream[] = []
  const stopListening = directory.onEnded(streams.end)
  // once all who follow the settings have theirs: by keys that are just being replaced a stream would still hold
  liveConfig.onChange(() => queueMicrotask(streams.revalidateAll))
  tokenSecrets.onReload(() => streams.revalidateAll())
  const retirement = followRetirement(liveConfig)
  const looking = setInterval(() => {
    streams.expire(nowSeconds(SYSTEM_CLOCK))
    if (retirement.isDue()) streams.revalidateAll()
  }, LOOK_MS).unref()
  return {
    streams,
    ring,
    serviceKey,
    note: (identify) => (context) => {
      context.authenticatedAt ??= streams.epoch
      return identify(context)
    },
    adopt(upstream) {
      upstreams.push(upstream)
      return upstream
    },
    async close() {
      clearInterval(looking)
      stopListening()
      ring?.stop()
      await Promise.all(upstreams.map((upstream) => upstream.close()))
    },
  }
}

/** When cookies made with a replaced secret verify no longer: streams opened with them end then. */
function followRetirement(liveConfig: LiveConfig): { isDue(): boolean } {
  const values = () => liveConfig.get().settings.values.chttpd_auth
  let { secret } = values()
  let ends: number[] = []
  liveConfig.onChange(() => {
    if (values().secret === secret) return
    secret = values().secret
    // one second more: whoever verifies may have looked at the clock a little later
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
