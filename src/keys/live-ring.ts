import { type FSWatcher, watch as watchPlace } from 'node:fs'
import { dirname } from 'node:path'
import { createLive } from '../base/live.ts'
import { shareNext } from '../base/turns.ts'
import type { KeyRing } from './ring.ts'
import type { RingLoad, RingProblem, SecretSource } from './secret-files.ts'
import { findFileState, listSecretFiles } from './secret-folder.ts'

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
  const stopWatching = watch && watchSecrets(watch.source, () => void reload(), watch.options)
  return {
    get: ring.get,
    /** Why the last reload kept the old ring; `undefined`: it succeeded. */
    get problem(): RingProblem | undefined {
      return problem
    },
    /** Loads a new ring, or keeps the old one and returns why. The load always begins after the call. */
    reload,
    /** Loads a new ring without using it yet, for a caller that has more to check; by `load` if given. */
    prepare,
    /** Stops watching the files. */
    stop: () => stopWatching?.(),
  }
}

const INTERNAL_ERROR = 4

async function loadSafely(load: LoadRing): Promise<RingLoad> {
  try {
    return await load()
  } catch {
    const message = 'the JWT secrets could not be loaded'
    return { kind: 'refused', errorNum: INTERNAL_ERROR, message, reason: message }
  }
}

export interface WatchOptions {
  /** How often to poll: not every file system sends events. */
  readonly pollMs?: number
  /** How long to wait after an event: a file is often changed in several steps. */
  readonly settleMs?: number
  /** `false`: only poll. */
  readonly useEvents?: boolean
}

const POLL_MS = 5000
const SETTLE_MS = 100

/**
 * Calls `onChange` once at the start and whenever the file or folder changed: written in place, replaced, or swapped
 * by a link above it, as mounted secrets are. Does not keep the process alive. Returns a function that stops it.
 */
export function watchSecrets(source: SecretSource, onChange: () => void, options: WatchOptions = {}): () => void {
  const { pollMs = POLL_MS, settleMs = SETTLE_MS, useEvents = true } = options
  let last: string | undefined
  let isStopped = false
  const look = shareNext(async () => {
    const state = await loadState(source)
    const isChanged = state !== last
    last = state
    if (isChanged && !isStopped) onChange()
  })
  const polling = setInterval(look, pollMs).unref()
  let settling: NodeJS.Timeout | undefined
  const lookSoon = () => {
    clearTimeout(settling)
    settling = setTimeout(look, settleMs).unref()
  }
  const events = useEvents ? openEvents(source, lookSoon) : undefined
  void look()
  return () => {
    isStopped = true
    clearInterval(polling)
    clearTimeout(settling)
    events?.close()
  }
}

/** The state of the files as text. Being unreadable is a state too. */
async function loadState({ keyfile, folder }: SecretSource): Promise<string> {
  try {
    if (!folder) return keyfile ? ((await findFileState(keyfile)) ?? 'no file') : 'nothing'
    const { files } = await listSecretFiles(folder)
    return files.map(({ name, state }) => `${name}\n${state}`).join('\n')
  } catch {
    return 'unreadable'
  }
}

/** Events of the folder, or of the file's folder, because a replaced file is a new one. `undefined`: polling only. */
function openEvents({ keyfile, folder }: SecretSource, onEvent: () => void): FSWatcher | undefined {
  const place = folder || (keyfile ? dirname(keyfile) : undefined)
  if (place === undefined) return undefined
  try {
    const events = watchPlace(place, { persistent: false }, onEvent)
    return events.on('error', () => events.close())
  } catch {
    return undefined
  }
}
