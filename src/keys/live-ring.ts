import { createLive, type Live } from '../base/live.ts'
import type { KeyRing } from './ring.ts'
import type { RingLoad, RingProblem, SecretSource } from './secret-files.ts'
import { shareNext, type WatchOptions, watchSecrets } from './watch.ts'

/** The ring in force. Readers call `get` once per operation and use that value throughout. */
export interface LiveRing extends Live<KeyRing> {
  /** Why the last reload kept the old ring; `undefined` where it did not. */
  readonly problem: RingProblem | undefined
  /**
   * Builds a whole new ring and puts it in force, or keeps the old one and says why. The answer is always that of a
   * load which began after the call.
   */
  reload(): Promise<RingLoad>
  /** Loads a whole new ring, for who has more to look at before anything is put in force; in a way of theirs if given. */
  prepare(load?: LoadRing): Promise<PreparedRing>
  /** Ends the watching. */
  stop(): void
}

type LoadRing = () => Promise<RingLoad>

export interface PreparedRing {
  readonly load: RingLoad
  /** Puts it in force, unless one that was read later is. */
  take(): void
}

export interface LiveRingOptions {
  readonly initial: KeyRing
  readonly load: LoadRing
  /** Hears of every reload, before those who asked for it. */
  readonly onReload?: (load: RingLoad) => void
  /** Files after whose changes to reload, and once at the start for what changed since they were loaded. */
  readonly watch?: { readonly source: SecretSource; readonly options?: WatchOptions }
}

export function createLiveRing({ initial, load, onReload, watch }: LiveRingOptions): LiveRing {
  const ring = createLive(initial)
  let problem: RingProblem | undefined
  let begun = 0
  let taken = 0
  const prepare = async (loadIt = load): Promise<PreparedRing> => {
    begun += 1
    const turn = begun
    const loaded = await loadSafely(loadIt)
    return { load: loaded, take: () => turn > taken && take(loaded, turn) }
  }
  const take = (loaded: RingLoad, turn: number): void => {
    taken = turn
    problem = loaded.kind === 'refused' ? loaded : undefined
    if (loaded.kind === 'ring') ring.set(loaded.ring)
    onReload?.(loaded)
  }
  const reload = shareNext(async () => {
    const prepared = await prepare()
    prepared.take()
    return prepared.load
  })
  const watching = watch && watchSecrets(watch.source, () => void reload(), watch.options)
  return {
    get: ring.get,
    get problem() {
      return problem
    },
    reload,
    prepare,
    stop: () => watching?.stop(),
  }
}

const INTERNAL_ERROR = 4

async function loadSafely(load: LoadRing): Promise<RingLoad> {
  try {
    return await load()
  } catch {
    return { kind: 'refused', errorNum: INTERNAL_ERROR, message: 'the JWT secrets could not be loaded' }
  }
}
