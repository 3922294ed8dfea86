import { type FSWatcher, watch } from 'node:fs'
import { dirname } from 'node:path'
import type { SecretSource } from './secret-files.ts'
import { findFileState, listSecretFiles } from './secret-folder.ts'

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
    const events = watch(place, { persistent: false }, onEvent)
    return events.on('error', () => events.close())
  } catch {
    return undefined
  }
}

/**
 * Runs one at a time, with at most one more waiting that all later callers share. So every caller gets the result of
 * a run that began after its call.
 */
export function shareNext<T>(run: () => Promise<T>): () => Promise<T> {
  let running: Promise<unknown> | undefined
  let waiting: Promise<T> | undefined
  const start = () => {
    waiting = undefined
    const current = run()
    const settled = () => {
      running = undefined
    }
    running = current.then(settled, settled)
    return current
  }
  return () => {
    if (running === undefined) return start()
    waiting ??= running.then(start)
    return waiting
  }
}
