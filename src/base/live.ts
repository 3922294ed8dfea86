import { AsyncLocalStorage } from 'node:async_hooks'

/** A value that can be replaced as a whole. Readers call `get` once per operation and use that value throughout. */
export interface Live<T> {
  get(): T
}

export interface LiveCell<T> extends Live<T> {
  set(value: T): void
  /** Runs `work`, and all it waits for, as if this were the value. Nothing else sees it. */
  runWith<R>(value: T, work: () => Promise<R>): Promise<R>
}

interface Trial {
  readonly cell: unknown
  readonly value: unknown
  isRunning: boolean
}

const trials = new AsyncLocalStorage<Trial>()
/** Every request reads many values, so the storage is asked only while there is a trial. */
let runningTrials = 0

/** The trial that the calling code belongs to. Work that outlives its trial belongs to none. */
function findTrial(): Trial | undefined {
  const trial = runningTrials > 0 ? trials.getStore() : undefined
  return trial?.isRunning ? trial : undefined
}

export function createLive<T>(initial: T): LiveCell<T> {
  let current = initial
  const cell: LiveCell<T> = {
    get: () => {
      const trial = findTrial()
      return trial?.cell === cell ? (trial.value as T) : current
    },
    set: (value) => {
      current = value
    },
    async runWith(value, work) {
      const trial: Trial = { cell, value, isRunning: true }
      runningTrials += 1
      try {
        return await trials.run(trial, work)
      } finally {
        trial.isRunning = false
        runningTrials -= 1
      }
    },
  }
  return cell
}

/** A value computed from another live value, once each time that one is replaced. */
export function deriveLive<S, T>(source: Live<S>, toValue: (value: S) => T): Live<T> {
  let from = source.get()
  let current = toValue(from)
  return {
    get: () => {
      const now = source.get()
      if (now === from) return current
      // others would see the value that is kept
      if (findTrial()) return toValue(now)
      current = toValue(now)
      from = now
      return current
    },
  }
}
