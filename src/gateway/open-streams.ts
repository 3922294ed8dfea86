import type { Ended } from '../directory/directory.ts'
import { type Authenticated, isAnonymous } from '../directory/identity.ts'
import { type Placed, PlacedList } from './placed-list.ts'

/** A request under way on behalf of somebody. */
export interface OpenStream extends Placed {
  readonly authenticated: Authenticated
  /** How much had ended when it was let in: what ended between then and now concerns it too. */
  readonly since: number | undefined
  /** Whether what it was let in with would still be let in, with the same rights. */
  revalidate(): Promise<boolean>
  cut(): void
}

export interface OpenStreams {
  add(stream: OpenStream): void
  remove(stream: OpenStream): void
  /** Cuts those that have ended, and those that no longer hold. */
  end(ended: Ended): void
  /** Keys or options have changed: every stream is judged anew. */
  revalidateAll(): void
  /** Cuts those whose token or session has run out by now, and forgets who has none. To be called now and then. */
  expire(nowSeconds: number): void
  readonly size: number
  /** Moves with everything that ends. */
  readonly epoch: number
}

export function createOpenStreams(): OpenStreams {
  const byName = new Map<string | null, PlacedList<OpenStream>>()
  /** Apart, because most of them are short and nothing that ends concerns them: only options do. */
  const ofNobody = new PlacedList<OpenStream>()
  let size = 0
  let epoch = 0

  const addNamed = (stream: OpenStream) => {
    const { name } = stream.authenticated.identity
    let own = byName.get(name)
    if (own === undefined) {
      own = new PlacedList()
      byName.set(name, own)
    }
    own.add(stream)
    size += 1
  }
  const judge = (stream: OpenStream) => {
    stream.revalidate().then(
      (holds) => {
        if (!holds) stream.cut()
      },
      () => stream.cut(),
    )
  }
  const all = () => [ofNobody, ...byName.values()].flatMap((streams) => streams.list())

  return {
    get epoch() {
      return epoch
    },
    get size() {
      return size + ofNobody.size
    },
    add(stream) {
      if (isAnonymous(stream.authenticated)) ofNobody.add(stream)
      else addNamed(stream)
      if (stream.since !== epoch) judge(stream)
    },
    remove(stream) {
      if (isAnonymous(stream.authenticated)) return void ofNobody.remove(stream)
      if (byName.get(stream.authenticated.identity.name)?.remove(stream)) size -= 1
    },
    end(ended) {
      epoch += 1
      if (ended.kind === 'everything') return all().forEach(judge)
      const streams = byName.get(ended.name)?.list() ?? []
      if (ended.kind === 'account') return streams.forEach(judge)
      for (const stream of streams) if (sessionIdOf(stream.authenticated) === ended.id) stream.cut()
    },
    revalidateAll() {
      epoch += 1
      all().forEach(judge)
    },
    expire(nowSeconds) {
      for (const [name, streams] of byName) {
        // whoever is back in a moment finds the list still there
        if (streams.size === 0) byName.delete(name)
        for (const stream of streams.list()) if (expiryOf(stream.authenticated) <= nowSeconds) stream.cut()
      }
    },
  }
}

const sessionIdOf = ({ session, bearer }: Authenticated): string | undefined => session?.id ?? bearer?.session?.id

/**
 * When the credential is over, in seconds since the epoch. A session of a cookie slides on with every request, so that
 * only what it rests on ends it by the clock.
 */
export const expiryOf = ({ origin, bearer, accessToken }: Authenticated): number =>
  Math.min(origin?.expiresAt ?? NEVER, bearer?.expiresAt ?? NEVER, accessToken?.validUntil ?? NEVER)

const NEVER = Number.POSITIVE_INFINITY
