import { createRegistry } from '../base/registry.ts'
import { type Authenticated, expiryOf, isAnonymous } from '../directory/identity.ts'
import type { Revocation } from '../directory/revocation.ts'

/** A forwarded request in progress. */
export interface OpenStream {
  readonly authenticated: Authenticated
  /** The `epoch` below when the request was authenticated: if it differs now, the credential may have ended since. */
  readonly streamEpoch: number | undefined
  /** Whether its credential is still valid, with the same rights. */
  revalidate(): Promise<boolean>
  cut(): void
  /** Whether the response may be endless. */
  readonly isFeed: boolean
  /** Ends it because the server stops. */
  stop(): void
}

export interface OpenStreams {
  /** Returns a function that removes it. */
  add(stream: OpenStream): () => void
  /** Cuts the streams of a session that ended, and revalidates those of an account that changed. */
  end(revocation: Revocation): void
  /** Revalidates all streams, because keys or options have changed. */
  revalidateAll(): void
  /** Ends all feeds, or all streams, and those that are added later. */
  stop(which: 'feeds' | 'all'): void
  /** Cuts the streams whose token or session has expired. Called periodically. */
  expire(nowSeconds: number): void
  readonly size: number
  /** Increases whenever a credential ends. */
  readonly epoch: number
}

export function createOpenStreams(): OpenStreams {
  const streams = createRegistry<OpenStream>()
  let epoch = 0
  let stopped: 'none' | 'feeds' | 'all' = 'none'
  const isStopped = ({ isFeed }: OpenStream) => stopped === 'all' || (stopped === 'feeds' && isFeed)

  const listOf = (name: string) =>
    streams.list().filter(({ authenticated }) => !isAnonymous(authenticated) && authenticated.identity.name === name)
  const revalidateAll = () => {
    epoch += 1
    for (const stream of streams.list()) void cutIfInvalid(stream)
  }

  return {
    get epoch() {
      return epoch
    },
    get size() {
      return streams.size
    },
    add(stream) {
      if (isStopped(stream)) {
        stream.stop()
        return () => {}
      }
      const remove = streams.add(stream)
      if (stream.streamEpoch !== epoch) void cutIfInvalid(stream)
      return remove
    },
    end(ended) {
      if (ended.kind === 'everything') return revalidateAll()
      epoch += 1
      for (const stream of listOf(ended.name))
        if (ended.kind === 'account') void cutIfInvalid(stream)
        else if (stream.authenticated.credential?.session?.id === ended.id) stream.cut()
    },
    revalidateAll,
    stop(which) {
      stopped = which
      for (const stream of streams.list().filter(isStopped)) stream.stop()
    },
    expire(nowSeconds) {
      for (const stream of streams.list()) if (expiryOf(stream.authenticated) <= nowSeconds) stream.cut()
    },
  }
}

async function cutIfInvalid(stream: OpenStream): Promise<void> {
  const isValid = await stream.revalidate().catch(() => false)
  if (!isValid) stream.cut()
}
