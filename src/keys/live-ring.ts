import { createLive } from '../base/live.ts'
import type { KeyRing } from './ring.ts'
import type { RingLoad, RingProblem, SecretSource } from './secret-files.ts'
import { shareNext, type WatchOptions, watchSecrets } from './watch.ts'

type LoadRing = () => Promise<RingLoad>

export type LiveRing = ReturnType<typeof createLiveRing>

/**
 * The current ring. Callers use `get` once per operation and keep that value. `onReload` is called after every reload,
 * before its callers continue. It is reloaded when the watched files change, and once at the start for changes since the
 * first load.
 */
export function createLiveRing(
  initial: KeyRing,
  load: LoadRing,
  onReload?: (load: RingLoad) => void,
  watch?: { readonly source: SecretSource; readonly options?: WatchOptions },
) {
  const ring = createLive(initial)
  let problem: RingProblem | undefined
  let begun = 0
  let taken = 0
  const prepare = async (loadIt = load) => {
    begun += 1
    const turn = begun
    const loaded = await loadSafely(loadIt)
    // the caller gives up now, but a restart would fail
    if (loaded.kind === 'refused' && turn > taken) problem = loaded
    /** `take` makes it the current ring, unless one that was loaded later already is. */
    return { load: loaded, take: () => void (turn > taken && take(loaded, turn)) }
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
  const refresh = shareNext(async () => {
    const prepared = await prepare()
    const isSame = prepared.load.kind === 'ring' && listHashes(prepared.load.ring) === listHashes(ring.get())
    if (!isSame || problem) prepared.take()
    return prepared.load
  })
  const stopWatching = watch && watchSecrets(watch.source, () => void reload(), watch.options)
  return {
    get: ring.get,
    /** Why the last reload kept the old ring; `undefined`: it succeeded. */
    get problem(): RingProblem | undefined {
      return problem
    },
    /** Loads a new ring, or keeps the old one and returns why. The load always begins after the call. */
    reload,
    /** The same, but does nothing if the files hold the secrets that are in use. */
    refresh,
    /** Loads a new ring without using it yet, for a caller that has more to check; by `load` if given. */
    prepare,
    /** Stops watching the files. */
    stop: () => stopWatching?.(),
  }
}

/** Equal for rings with the same secrets in the same order. */
export const listHashes = ({ verifying }: KeyRing): string => verifying.map(({ sha256 }) => sha256).join()

const INTERNAL_ERROR = 4

async function loadSafely(load: LoadRing): Promise<RingLoad> {
  try {
    return await load()
  } catch {
    const message = 'the JWT secrets could not be loaded'
    return { kind: 'refused', errorNum: INTERNAL_ERROR, message, reason: message }
  }
}
