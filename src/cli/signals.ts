import { constants } from 'node:os'

/** A terminal, npm and a shell may each pass on the same interrupt; only a later one means "at once". */
const SAME_SIGNAL_MS = 500

/** What cannot be interrupted, such as a password that is being hashed, gets so long once everything is closed. */
const LEFT_BEHIND_MS = 1000

type Stopping = 'SIGTERM' | 'SIGINT'

export interface Signals {
  /** From here on a signal to stop waits for who runs; until here nothing has been opened, and it ends the process. */
  waitForStop(): Promise<void>
  /** What a hang-up asks for; one that came early is made up for. */
  onHangUp(work: () => void): void
  /** Everything is closed: whatever is left cannot hold the process for long. */
  endSoon(): void
  /** The command serves: a signal to stop ends it well, also one that has come. */
  keep(): void
  /** It does not: signals do again what they do to any process, also those that have come. */
  release(): void
}

const SERVING: ReadonlySet<string | undefined> = new Set(['serve', 'start'])

/** Whether a command is one that serves. */
export const isServing = (command: string | undefined): boolean => SERVING.has(command)

/** Signals count from this call on: none is lost, and none ends the process before its time. */
export function catchSignals(): Signals {
  const stop = Promise.withResolvers<void>()
  const hangUp = { isDue: false, work: undefined as (() => void) | undefined }
  const early: NodeJS.Signals[] = []
  let isKept = false
  let isWaiting = false
  let stoppedAt: number | undefined
  const onStop = (signal: Stopping) => {
    if (!isKept) return void early.push(signal)
    if (!isWaiting) process.exit(0)
    if (stoppedAt !== undefined && performance.now() - stoppedAt > SAME_SIGNAL_MS) endAtOnce(signal)
    stoppedAt ??= performance.now()
    stop.resolve()
  }
  process.on('SIGTERM', onStop).on('SIGINT', onStop)
  const onHangUp = () => {
    hangUp.isDue = hangUp.work === undefined
    hangUp.work?.()
  }
  process.on('SIGHUP', onHangUp)
  return {
    waitForStop: () => {
      isKept = true
      isWaiting = true
      return stop.promise
    },
    onHangUp: (work) => {
      hangUp.work = work
      if (hangUp.isDue) work()
    },
    endSoon: () => void setTimeout(() => endAtOnce('SIGTERM'), LEFT_BEHIND_MS).unref(),
    keep: () => {
      isKept = true
      if (early.length > 0) process.exit(0)
    },
    release: () => {
      process.off('SIGTERM', onStop).off('SIGINT', onStop).off('SIGHUP', onHangUp)
      if (hangUp.isDue) early.push('SIGHUP')
      for (const signal of early) process.kill(process.pid, signal)
    },
  }
}

/** `process.exit` would wait for threads at work: only the signal itself does not. */
function endAtOnce(signal: Stopping): never {
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
  process.exit(128 + constants.signals[signal]) // the first process of a container does not die of a signal
}
