import { waitAtMost } from '../base/sleep.ts'
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
  /** The session in the place of the one that a stream was opened under. */
  readonly #sessions = new WeakMap<OpenStream, string>()
  readonly #findCurrent: (sessionId: string) => string
  /** The accounts that have changed in this turn. */
  readonly #changed = new Set<string>()
  /** The streams whose credentials are being checked. */
  readonly #checks = new Map<OpenStream, Promise<void>>()
  #epoch = 0
  #stopped: 'none' | 'feeds' | 'all' = 'none'

  /** `findCurrent`: the session that has taken the place of this one; otherwise itself. */
  constructor(findCurrent: (sessionId: string) => string = (id) => id) {
    this.#findCurrent = findCurrent
  }

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
    const session = this.#sessionOf(stream)
    const current = session === undefined ? session : this.#findCurrent(session)
    if (current !== undefined && current !== session) this.#sessions.set(stream, current)
    if (stream.streamEpoch !== this.#epoch) this.#check(stream)
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

  /** Cuts the streams of a session that ended, or moves them to the one in its place, and revalidates those of an account that changed. */
  end(ended: Revocation): void {
    if (ended.kind === 'everything') return void this.revalidateAll()
    this.#epoch += 1
    if (ended.kind === 'account') return void this.#revalidateSoon(ended.name)
    const { id, name, successor } = ended
    for (const stream of this.#listOf(new Set([name])).filter((each) => this.#sessionOf(each) === id))
      if (successor === undefined) stream.cut()
      else this.#sessions.set(stream, successor)
  }

  #sessionOf(stream: OpenStream): string | undefined {
    const { authenticated } = stream
    return this.#sessions.get(stream) ?? (isAnonymous(authenticated) ? undefined : authenticated.credential.session?.id)
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
        for (const stream of streams) this.#check(stream)
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
    for (const stream of this.#streams.list()) this.#check(stream)
  }

  #check(stream: OpenStream): void {
    const check = cutIfInvalid(stream).finally(() => {
      if (this.#checks.get(stream) === check) this.#checks.delete(stream)
    })
    this.#checks.set(stream, check)
  }

  /** Resolves when the streams of all credentials that have ended are cut. One whose check takes longer is cut too. */
  async settle(maxMs: number): Promise<void> {
    await waitAtMost(this.#checks.values(), maxMs)
    for (const stream of this.#checks.keys()) stream.cut()
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
