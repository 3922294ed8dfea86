/** The end of a worker process: what it says to its supervisor, and hears. */
import cluster from 'node:cluster'
import type { Log } from '../base/log.ts'
import type { Siblings } from '../base/siblings.ts'
import { joinSiblings } from './join-siblings.ts'
import type { FromWorker, ToWorker } from './router.ts'

/** What a worker is started with. */
export interface WorkerStart {
  /** Contents of the pipes that the supervisor was given as configuration: they can be read only once. */
  readonly pipes: ReadonlyMap<string, { readonly path: string; readonly text: string }>
  /** Whether people read the log on a terminal: a worker writes it to its supervisor. */
  readonly isOnTerminal: boolean
}

/** `retire`: connections end with their next reply. `stop`: as soon as their requests are done. */
export type Departure = 'retire' | 'stop'

export type FromSupervisor =
  | ({ readonly kind: 'start' } & WorkerStart)
  /** Read the configuration again. */
  | { readonly kind: 'reload' }
  | { readonly kind: 'leave'; readonly departure: Departure }

export type ToSupervisor =
  /** It has been started, and receives messages from now on. */
  | { readonly kind: 'hello' }
  /** It serves. The first to serve says with `value` what the operator reads. */
  | { readonly kind: 'ready'; readonly value: unknown }
  /** Its event loop is not stuck. `timeoutMs`: how long it may be; 0: any time. */
  | { readonly kind: 'beat'; readonly timeoutMs: number }
  /** It was sent a signal: it takes no new connections, and ends. */
  | { readonly kind: 'leaving' }
  /** Replace all workers, one by one. */
  | { readonly kind: 'roll' }

const BEAT_MS = 250

export type WorkerProcess = Awaited<ReturnType<typeof connectToSupervisor>>

/** Whether the supervisor has started this process. */
export const isSupervised = (): boolean => cluster.isWorker

export async function connectToSupervisor() {
  const send = (message: ToSupervisor | FromWorker): void => void process.send?.(message)
  const started = Promise.withResolvers<WorkerStart>()
  const left = Promise.withResolvers<Departure>()
  let isReloadDue = false
  let onReload = (): void => {
    isReloadDue = true
  }
  let onRouted = (_message: ToWorker): void => {}
  process.on('message', (message: FromSupervisor | ToWorker) => {
    if (message.kind === 'start') started.resolve(message)
    else if (message.kind === 'reload') onReload()
    else if (message.kind === 'leave') left.resolve(message.departure)
    else onRouted(message)
  })
  // the supervisor has ended: another server may start. `process.exit`, Node's default, waits for running threads
  process.prependOnceListener('disconnect', () => process.kill(process.pid, 'SIGKILL'))
  send({ kind: 'hello' })
  return {
    ...(await started.promise),
    /** Resolves when the supervisor wants it to leave. */
    left: left.promise,
    join: (log: Log): Promise<Siblings> =>
      joinSiblings(
        {
          send,
          onMessage: (listener) => {
            onRouted = listener
          },
        },
        log,
      ),
    /** Called when the configuration is to be read again, at once if it was to be earlier. */
    onReload(work: () => void): void {
      onReload = work
      if (isReloadDue) work()
    },
    roll: () => send({ kind: 'roll' }),
    /** From now on another one is the first. */
    setLeaving: () => send({ kind: 'leaving' }),
    /** From now on the channel does not keep the process running. */
    release: () => process.channel?.unref(),
    /** It serves. `timeoutMs` is read again and again. */
    setReady(value: unknown, timeoutMs: () => number): void {
      const beat = () => send({ kind: 'beat', timeoutMs: timeoutMs() })
      // first: a worker that is stuck at once is replaced too
      beat()
      send({ kind: 'ready', value })
      setInterval(beat, BEAT_MS).unref()
    },
  }
}
