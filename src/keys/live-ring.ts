import { createLive, type Live } from '../base/live.ts'
import { shareNext } from './files/share-next.ts'
import { type WatchOptions, watchSecrets } from './files/watch.ts'
import type { KeyRing } from './ring.ts'
import type { RingLoad, RingProblem, SecretSource } from './secret-files.ts'

/** The ring in force. Readers call `get` once per operation and use that value throughout. */
export interface LiveRing extends Live<KeyRing> {
  /** Of the ring in force; what is remembered of verified tokens is kept by it. */
  readonly version: string
  /** Why the last reload kept the old ring; `undefined` where it did not. */
  readonly problem: RingProblem | undefined
  /**
   * Builds a whole new ring and puts it in force, or keeps the old one and says why. The answer is always that of a
   * load which began after the call.
   */
  reload(): Promise<RingLoad>
  /** Ends the watching. */
  stop(): void
}

export interface LiveRingOptions {
  readonly initial: KeyRing
  readonly load: () => Promise<RingLoad>
  /** Hears of every reload, before those who asked for it. */
  readonly onReload?: (load: RingLoad) => void
  /** Files after whose changes to reload, and once at the start for what changed since they were loaded. */
  readonly watch?: { readonly source: SecretSource; readonly options?: WatchOptions }
}

export function createLiveRing({ initial, load, onReload, watch }: LiveRingOptions): LiveRing {
  const ring = createLive(initial)
  let problem: RingProblem | undefined
  const take = (loaded: RingLoad): RingLoad => {
    problem = loaded.kind === 'refused' ? loaded : undefined
    if (loaded.kind === 'ring') ring.set(loaded.ring)
    onReload?.(loaded)
    return loaded
  }
  const reload = shareNext(async () => take(await loadSafely(load)))
  const watching = watch && watchSecrets(watch.source, () => void reload(), watch.options)
  return {
    get: ring.get,
    get version() {
      return ring.get().version
    },
    get problem() {
      return problem
    },
    reload,
    stop: () => watching?.stop(),
  }
}

const INTERNAL_ERROR = 4

async function loadSafely(load: () => Promise<RingLoad>): Promise<RingLoad> {
  try {
    return await load()
  } catch {
    return { kind: 'refused', errorNum: INTERNAL_ERROR, message: 'the JWT secrets could not be loaded' }
  }
}
