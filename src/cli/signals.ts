import cluster from 'node:cluster'
import { constants } from 'node:os'

/** A terminal, npm and a shell may each forward the same interrupt. Only a later one ends the process at once. */
const SAME_SIGNAL_MS = 500

/** Time for work that cannot be interrupted, such as hashing a password, after everything is closed. */
const LEFT_BEHIND_MS = 1000

type Stopping = 'SIGTERM' | 'SIGINT'

export type Signals = ReturnType<typeof catchSignals>

const SERVING: ReadonlySet<string | undefined> = new Set(['serve', 'start'])

/** Whether a command serves. */
export const isServing = (command: string | undefined): boolean => SERVING.has(command)

/**
 * Handles signals from this call on, so that none is lost and none ends the process too early. A process
 * with a supervisor leaves the interrupt and the hang-up of a terminal to it: the supervisor gets them too.
 */
export function catchSignals() {
  const stop = Promise.withResolvers<void>()
  const early: NodeJS.Signals[] = []
  let isKept = false
  let isWaiting = false
  let stoppedAt: number | undefined
  let isHangUpDue = false
  let hangUp: (() => void) | undefined
  const onStop = (signal: Stopping) => {
    if (!isKept) return void early.push(signal)
    if (!isWaiting) process.exit(0)
    if (stoppedAt !== undefined && performance.now() - stoppedAt > SAME_SIGNAL_MS) endAtOnce(signal)
    stoppedAt ??= performance.now()
    stop.resolve()
  }
  const onHangUpSignal = () => {
    isHangUpDue = hangUp === undefined
    hangUp?.()
  }
  const [onInterrupt, onHangUp] = cluster.isPrimary ? [onStop, onHangUpSignal] : [() => {}, () => {}]
  process.on('SIGTERM', onStop).on('SIGINT', onInterrupt).on('SIGHUP', onHangUp)
  return {
    /** Resolves at a signal to stop. Before this call nothing is open, and such a signal ends the process. */
    waitForStop: (): Promise<void> => {
      isKept = true
      isWaiting = true
      return stop.promise
    },
    /** Called at SIGHUP, at once if one came earlier. */
    onHangUp: (work: () => void): void => {
      hangUp = work
      if (isHangUpDue) work()
    },
    /** Call when everything is closed: ends the process soon, whatever is still running. */
    endSoon: () => void setTimeout(() => endAtOnce('SIGTERM'), LEFT_BEHIND_MS).unref(),
    /** For a command that serves: a signal to stop ends it with 0, also one that came earlier. */
    keep: (): void => {
      isKept = true
      if (early.length > 0) process.exit(0)
    },
    /** For other commands: restores the default effect of signals, also of those that came earlier. */
    release: (): void => {
      process.off('SIGTERM', onStop).off('SIGINT', onInterrupt).off('SIGHUP', onHangUp)
      if (isHangUpDue) early.push('SIGHUP')
      for (const signal of early) process.kill(process.pid, signal)
    },
  }
}

/** `process.exit` would wait for running threads; the signal does not. */
function endAtOnce(signal: Stopping): never {
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
  process.exit(128 + constants.signals[signal]) // the first process of a container does not die of a signal
}
