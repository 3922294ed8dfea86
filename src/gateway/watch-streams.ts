import { type Clock, nowSeconds } from '../base/clock.ts'
import type { RevocationFeed } from '../directory/revocation.ts'
import type { OpenStreams } from './open-streams.ts'

export interface StreamWatchDeps extends RevocationFeed {
  /** Calls the listener after keys or options have changed. */
  onKeysChanged(listener: () => void): void
  /** Whether a secret has stopped verifying since the last call. */
  isSecretRetired(): boolean
  readonly clock: Clock
}

/** How often streams with an expired credential are ended. */
const EXPIRY_CHECK_MS = 1000

/** Ends or revalidates streams when users, keys, options or the time change. Returns a function that stops it. */
export function watchStreams(streams: OpenStreams, deps: StreamWatchDeps): () => void {
  const stopListening = deps.onRevoked(streams.end)
  deps.onKeysChanged(streams.revalidateAll)
  const timer = setInterval(() => {
    streams.expire(nowSeconds(deps.clock))
    if (deps.isSecretRetired()) streams.revalidateAll()
  }, EXPIRY_CHECK_MS).unref()
  return () => {
    clearInterval(timer)
    stopListening()
  }
}
