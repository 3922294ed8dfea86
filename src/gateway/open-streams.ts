import type { Revocation } from '../directory/deps.ts'
import { ANONYMOUS, type Authenticated, expiryOf, isAnonymous } from '../directory/identity.ts'

/** A forwarded request in progress, or a feed of the door itself. */
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

/** The responses in progress that end with their credential. */
export class OpenStreams {
  readonly #streams = createRegistry<OpenStream>()
  /** The accounts that have changed in this turn. */
  readonly #changed = new Set<string>()
  #epoch = 0
  #stopped: 'none' | 'feeds' | 'all' = 'none'

  /** Increases whenever a credential ends. */
  get epoch(): number {
    return this.#epoch
  }

  get size(): number {
    return this.#streams.size
  }

  /** Returns a function that removes it. */
  add(stream: OpenStream): () => void {
    if (this.#isStopped(stream)) {
      stream.stop()
      return () => {}
    }
    const remove = this.#streams.add(stream)
    if (stream.streamEpoch !== this.#epoch) void cutIfInvalid(stream)
    return remove
  }

  /**
   * For a stream that sends data piece by piece: it must ask `isValid` before each piece, because a stream is cut only
   * after its credential was checked, which takes a moment.
   */
  watch(stream: OpenStream) {
    let checked = stream.streamEpoch
    return {
      close: this.add(stream),
      isValid: async (): Promise<boolean> => {
        const epoch = this.#epoch
        if (checked === epoch) return true
        if (!(await stream.revalidate().catch(() => false))) return false
        checked = epoch
        return true
      },
    }
  }

  /** Cuts the streams of a session that ended, and revalidates those of an account that changed. */
  end(ended: Revocation): void {
    if (ended.kind === 'everything') return void this.revalidateAll()
    this.#epoch += 1
    if (ended.kind === 'account') this.#revalidateSoon(ended.name)
    else for (const stream of this.#listOf(new Set([ended.name]))) if (sessionIdOf(stream) === ended.id) stream.cut()
  }

  /**
   * All at once, so that no stream sends anything after its credential ended. In a microtask: an import changes a
   * thousand accounts in one turn, and to look for each among ten thousand streams would take 350 ms.
   */
  #revalidateSoon(name: string): void {
    if (this.#changed.size === 0)
      queueMicrotask(() => {
        const streams = this.#listOf(this.#changed)
        this.#changed.clear()
        for (const stream of streams) void cutIfInvalid(stream)
      })
    this.#changed.add(name)
  }

  #listOf(names: ReadonlySet<string | null>): OpenStream[] {
    return this.#streams
      .list()
      .filter(({ authenticated }) => !isAnonymous(authenticated) && names.has(authenticated.identity.name))
  }

  /** Revalidates all streams, because keys or options have changed. */
  revalidateAll(): void {
    this.#epoch += 1
    for (const stream of this.#streams.list()) void cutIfInvalid(stream)
  }

  /** Ends all feeds, or all streams, and those that are added later. */
  stop(which: 'feeds' | 'all'): void {
    this.#stopped = which
    for (const stream of this.#streams.list()) if (this.#isStopped(stream)) stream.stop()
  }

  /** Cuts the streams whose token or session has expired. Called periodically. */
  expire(nowSeconds: number): void {
    for (const stream of this.#streams.list()) if (expiryOf(stream.authenticated) <= nowSeconds) stream.cut()
  }

  #isStopped({ isFeed }: OpenStream): boolean {
    return this.#stopped === 'all' || (this.#stopped === 'feeds' && isFeed)
  }
}

const sessionIdOf = ({ authenticated }: OpenStream): string | undefined =>
  isAnonymous(authenticated) ? undefined : authenticated.credential?.session?.id

async function cutIfInvalid(stream: OpenStream): Promise<void> {
  const isValid = await stream.revalidate().catch(() => false)
  if (!isValid) stream.cut()
}

interface FeedRequest extends Pick<OpenStream, 'streamEpoch'> {
  readonly authenticated: Authenticated | undefined
}

/** Watches feeds that a door itself sends. It closes their connections itself when the server stops. */
export const createFeedWatch =
  <R extends FeedRequest>(streams: OpenStreams, revalidate: (request: R) => Promise<boolean>) =>
  (request: R, cut: () => void) =>
    streams.watch({
      authenticated: request.authenticated ?? ANONYMOUS,
      streamEpoch: request.streamEpoch,
      revalidate: () => revalidate(request),
      cut,
      isFeed: true,
      stop: () => {},
    })

interface Entry<T> {
  readonly item: T
  position: number
}

/**
 * Items that come and go in large numbers, in no order.
 *
 * An array, not a `Set`: V8 replaces the table of a `Set` again and again while items come and go, and every former
 * table keeps the next one alive, with the items in it, until a full garbage collection. With a `Set` of the requests
 * in progress, a request with a JWT takes 95 instead of 80 µs of CPU time (`npm run bench -- gateway-cpu`).
 */
function createRegistry<T>() {
  const entries: Entry<T>[] = []
  const remove = (entry: Entry<T>) => {
    if (entries[entry.position] !== entry) return
    const last = entries.pop() as Entry<T>
    if (last === entry) return
    last.position = entry.position
    entries[entry.position] = last
  }
  return {
    /** Returns a function that removes the item. */
    add(item: T): () => void {
      const entry = { item, position: entries.length }
      entries.push(entry)
      return () => remove(entry)
    },
    /** A copy: items may be added and removed while it is read. */
    list: (): T[] => entries.map(({ item }) => item),
    get size(): number {
      return entries.length
    },
  }
}
