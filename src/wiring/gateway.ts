// Opens what all upstreams share: their registry, the open streams, and the keys that sign for them.
import { nowSeconds, SYSTEM_CLOCK } from '../base/clock.ts'
import type { Directory } from '../directory/directory.ts'
import { OpenStreams } from '../gateway/open-streams.ts'
import { createUpstreamRegistry } from '../gateway/upstream-registry.ts'
import { followRetirement } from '../live-config/cookie-secret.ts'
import type { LiveConfig } from '../live-config/live-config.ts'
import { openUpstreamSecrets, type TokenSecrets } from '../live-config/secret-rings.ts'
import { openServiceKey } from '../live-config/service-key.ts'

export async function openGateway(liveConfig: LiveConfig, directory: Directory, tokenSecrets: TokenSecrets) {
  const streams = new OpenStreams()
  const ring = await openUpstreamSecrets(liveConfig)
  const serviceKey = openServiceKey(liveConfig)
  const registry = createUpstreamRegistry(liveConfig.kernel.log)
  const stopWatching = watchStreams(streams, liveConfig, directory, tokenSecrets)
  return {
    ...registry,
    streams,
    /** Signs for ArangoDB; `undefined` where no secret is configured. */
    ring,
    /** Signs for services. */
    serviceKey,
    async close() {
      stopWatching()
      // before their connections are closed, which would look like failures of the upstreams
      streams.stop('all')
      ring?.stop()
      await registry.close()
    },
  }
}

/** How often streams with an expired credential are ended. */
const EXPIRY_CHECK_MS = 1000

/** Ends or revalidates streams when users, keys, options or the time change. Returns a function that stops it. */
function watchStreams(
  streams: OpenStreams,
  liveConfig: LiveConfig,
  directory: Directory,
  tokenSecrets: TokenSecrets,
): () => void {
  const stopListening = directory.onRevoked((revocation) => streams.end(revocation))
  const revalidate = () => streams.revalidateAll()
  // In a microtask, after every other listener: streams must be revalidated with the new keys.
  liveConfig.onChange(() => queueMicrotask(revalidate))
  tokenSecrets.onReload(revalidate)
  const retirement = followRetirement(liveConfig)
  const timer = setInterval(() => {
    streams.expire(nowSeconds(SYSTEM_CLOCK))
    if (retirement.isDue()) revalidate()
  }, EXPIRY_CHECK_MS).unref()
  return () => {
    clearInterval(timer)
    stopListening()
  }
}
