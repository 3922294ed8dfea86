// The worker threads of a server: starts them, gives them connections and changes, and replaces those that end.
import type { KeyObject } from 'node:crypto'
import { getCompileCacheDir } from 'node:module'
import type { Socket } from 'node:net'
import { dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { Log } from '../base/log.ts'
import { openSocketChannel, type SocketChannel } from '../base/node-internals/socket-channel.ts'
import { waitAtMost } from '../base/sleep.ts'
import { createTurns, shareNext } from '../base/turns.ts'
import type { Store } from '../directory/store-port/store.ts'
import type { TlsSettings } from '../http/server.ts'
import { keepCounts, type Metrics, type MetricsCopy } from '../observe/metrics.ts'
import type { SecurityEvents } from '../observe/security-events.ts'
import type { ServerErrors } from '../observe/server-errors.ts'
import {
  CHANGES,
  createCounters,
  FAILURES,
  type FromWorker,
  type LeaveOrder,
  type SharedState,
  type ThreadCounters,
  type ToWorker,
  type WorkerListener,
  type WorkerStart,
} from './messages.ts'
import { runStoreCall } from './remote-store.ts'

export interface WorkerPoolDeps {
  readonly count: number
  /** The program of a worker thread. */
  readonly program: URL
  readonly store: Store
  readonly log: Log
  readonly metrics: Metrics
  readonly serverErrors: Pick<ServerErrors, 'add'>
  readonly generatedKey: KeyObject
  readonly relayPath: string
  readState(): SharedState
  /** How long the event loop of a worker may be stuck; 0: any time. */
  timeoutMs(): number
  readonly events: Pick<SecurityEvents, 'record'>
}

/** One worker thread. */
interface Member {
  readonly slot: number
  readonly worker: Worker
  readonly channel: SocketChannel
  /** The connections it serves, each with what frees its place at the door. */
  readonly connections: Map<number, () => void>
  readonly ended: Promise<void>
  readonly beats: ThreadCounters
  /** The last beat that was seen, and when. */
  seen: { readonly beat: number; readonly atMs: number }
  isReady: boolean
  /** Another one takes its slot, or is being started for it. */
  hasSuccessor: boolean
  /** No longer given connections. */
  isLeaving: boolean
  metrics: MetricsCopy
  /** Each waits for one copy of the metrics. */
  readonly readers: (() => void)[]
}

const FIRST_DELAY_MS = 100
const MAX_DELAY_MS = 10_000
/** A worker that ran this long was not broken from the start. */
const HEALTHY_MS = 30_000
const LOOK_EVERY_MS = 1000

/** Without it a worker under load takes 102 instead of 56 MiB, and as much CPU time (`npm run bench -- workers`). */
const RESOURCE_LIMITS = { maxYoungGenerationSizeMb: 36 }

/**
 * A worker uses the compiled modules that the main thread keeps. Without them, a worker of a checkout takes 12 MiB more,
 * most of it to strip types.
 */
function createEnvironment(): NodeJS.ProcessEnv {
  const folder = getCompileCacheDir()
  // Node adds a folder for its version to the one that it is given
  return folder === undefined ? process.env : { ...process.env, NODE_COMPILE_CACHE: dirname(folder) }
}

export class WorkerPool {
  readonly #deps: WorkerPoolDeps
  readonly #listeners: WorkerListener[] = []
  readonly #counters = createCounters()
  readonly #members = new Set<Member>()
  readonly #watch: NodeJS.Timeout
  readonly #inTurn = createTurns()
  /** What workers that have ended had counted. */
  #past: MetricsCopy = []
  #failures = 0
  /** The slots whose worker has ended or could not be started, until another is ready. */
  readonly #missing = new Set<number>()
  #lastConnection = 0
  #isClosing = false
  #isPosted = false

  constructor(deps: WorkerPoolDeps) {
    this.#deps = deps
    this.#watch = setInterval(() => {
      this.#endStuck()
      void this.#refreshMetrics()
    }, LOOK_EVERY_MS).unref()
    deps.metrics.setThreads({
      list: () => [this.#past, ...[...this.#members].map(({ metrics }) => metrics)],
      refresh: () => this.#refreshMetrics(),
    })
    deps.metrics.collectValue('cardea_workers', () => this.#ready().length)
  }

  /** To be called for every listener before `start`. Returns its number. */
  addListener(listener: WorkerListener): number {
    return this.#listeners.push(listener) - 1
  }

  start(): void {
    for (let slot = 0; slot < this.#deps.count; slot += 1) void this.#keepRunning(slot)
  }

  /** Why fewer workers serve than should; `undefined`: all do, or start for the first time. */
  check(): string | undefined {
    const { size } = this.#missing
    return size === 0 ? undefined : `${size} of ${this.#deps.count} worker threads do not run`
  }

  /** From now on no worker accepts what it knows, until it has read the changes of the store. */
  noteChange(): void {
    Atomics.add(this.#counters, CHANGES, 1)
    if (this.#isPosted || this.#members.size === 0) return
    this.#isPosted = true
    queueMicrotask(() => {
      this.#isPosted = false
      this.#post({ kind: 'changed' })
    })
  }

  /** The same for a new configuration or new keys. */
  noteState(): void {
    // posted first: a worker that sees the number finds the message
    if (this.#members.size > 0) this.#post({ kind: 'changed', state: this.#deps.readState() })
    Atomics.add(this.#counters, CHANGES, 1)
  }

  /** A password check has failed: workers ask the main thread about every password again. */
  noteFailure(): void {
    Atomics.add(this.#counters, FAILURES, 1)
  }

  replaceTls(listener: number, tls: TlsSettings): void {
    // a number that the pool itself has given, of a listener with TLS
    const { endpoint, ...rest } = this.#listeners[listener] as WorkerListener
    this.#listeners[listener] = { ...rest, endpoint: { ...endpoint, tls } as WorkerListener['endpoint'] }
    this.#post({ kind: 'tls', listener, tls })
  }

  /** Gives a new connection to the worker with the fewest. `false`: there is none, or the door has no place for it. */
  handOver(listener: number, socket: Socket, lend: (socket: Socket) => (() => void) | undefined): boolean {
    const ready = this.#ready()
    if (ready.length === 0 || this.#isClosing) return false
    const member = ready.reduce((least, each) => (each.connections.size < least.connections.size ? each : least))
    const release = lend(socket)
    if (!release) return false
    this.#lastConnection += 1
    const id = this.#lastConnection
    member.connections.set(id, release)
    if (member.channel.send(socket, `${listener} ${id}`)) return true
    this.#release(member, id)
    return false
  }

  /** Replaces all workers, one after the other. If they are being replaced already, this begins afterwards. */
  readonly roll = shareNext(async (graceMs: number): Promise<void> => {
    try {
      for (const member of this.#ready()) await this.#replace(member, graceMs)
      if (!this.#isClosing) this.#deps.log.info('worker threads were replaced')
    } catch (error) {
      this.#reportStart(error)
    }
  })

  /** Resolves when all have ended, at the latest soon after `graceMs`. */
  async close(graceMs: number): Promise<void> {
    this.#isClosing = true
    clearInterval(this.#watch)
    await Promise.all(
      [...this.#members].map(async (member) => {
        await this.#leave(member, { kind: 'stop', graceMs })
        await member.worker.terminate()
        await member.ended
      }),
    )
    // a channel that is being opened is not used, and leaves no file behind
    await this.#inTurn(async () => {})
  }

  #ready = (): readonly Member[] => [...this.#members].filter(({ isReady, isLeaving }) => isReady && !isLeaving)

  #post(message: ToWorker): void {
    for (const { worker } of this.#members) worker.postMessage(message)
  }

  /** The worker leaves when its successor serves. One that ended meanwhile has a successor already. */
  async #replace(member: Member, graceMs: number): Promise<void> {
    if (this.#isClosing || !this.#members.has(member)) return
    member.hasSuccessor = true
    try {
      const successor = await this.#open(member.slot)
      if (!successor) return
      if (!successor.isReady) throw new Error('it has ended before it was ready')
      void this.#keepRunning(member.slot, successor)
    } catch (error) {
      // the old one is better than none
      member.hasSuccessor = false
      if (!this.#members.has(member)) void this.#keepRunning(member.slot)
      throw error
    }
    await this.#leave(member, { kind: 'retire', graceMs })
  }

  /** Resolves when it has ended, or soon after `graceMs`. */
  async #leave(member: Member, order: LeaveOrder): Promise<void> {
    member.isLeaving = true
    member.worker.postMessage(order)
    member.channel.end()
    await waitAtMost([member.ended], order.graceMs + LOOK_EVERY_MS)
  }

  /** Runs a worker in this slot, and another after each that dies, until the pool is closed or the worker replaced. */
  async #keepRunning(slot: number, first?: Member): Promise<void> {
    let next: Member | undefined = first
    while (!this.#isClosing) {
      const startedMs = performance.now()
      const member = next ?? (await this.#open(slot).catch((error) => this.#reportStart(error)))
      next = undefined
      await member?.ended
      if (member?.hasSuccessor || this.#isClosing) return
      const isHealthy = performance.now() - startedMs > HEALTHY_MS
      this.#failures = isHealthy ? 1 : this.#failures + 1
      this.#missing.add(slot)
      const delayMs = Math.min(FIRST_DELAY_MS * 2 ** (this.#failures - 1), MAX_DELAY_MS)
      this.#deps.log.error('a worker thread has ended and is started again', { worker: slot, delayMs })
      await pause(delayMs, undefined, { ref: false })
    }
  }

  #reportStart(error: unknown): undefined {
    this.#deps.log.error('a worker thread cannot be started', { error })
  }

  /** Resolves when the worker is ready or has ended. `undefined`: the pool was closed before. */
  async #open(slot: number): Promise<Member | undefined> {
    const channel = await this.#inTurn(openSocketChannel)
    if (this.#isClosing) return void channel.close('unused')
    const ready = Promise.withResolvers<void>()
    try {
      const member = this.#start(slot, channel, ready.resolve)
      await ready.promise
      return member
    } catch (error) {
      channel.close('unused')
      throw error
    }
  }

  #start(slot: number, channel: SocketChannel, onReady: () => void): Member {
    const { program, readState, generatedKey, relayPath, count } = this.#deps
    const beats = createCounters()
    const workerData: WorkerStart = {
      state: readState(),
      generatedKey,
      listeners: this.#listeners,
      threads: count,
      relayPath,
      counters: this.#counters,
      beats,
      fd: channel.fd,
    }
    const worker = new Worker(program, {
      workerData,
      name: `cardea-worker-${slot}`,
      env: createEnvironment(),
      resourceLimits: RESOURCE_LIMITS,
    })
    const ended = Promise.withResolvers<void>()
    const member: Member = {
      slot,
      worker,
      channel,
      connections: new Map(),
      ended: ended.promise,
      beats,
      seen: { beat: 0, atMs: performance.now() },
      isReady: false,
      hasSuccessor: false,
      isLeaving: false,
      metrics: [],
      readers: [],
    }
    this.#members.add(member)
    worker.on('message', (message: FromWorker) => this.#onMessage(member, message, onReady))
    worker.on('error', (error) => this.#deps.log.error('a worker thread has failed', { worker: slot, error }))
    worker.once('exit', () => {
      this.#onExit(member)
      onReady()
      ended.resolve()
    })
    return member
  }

  #onExit(member: Member): void {
    this.#members.delete(member)
    this.#past = keepCounts([this.#past, member.metrics])
    member.channel.close(member.isReady ? 'used' : 'unused')
    for (const id of [...member.connections.keys()]) this.#release(member, id)
  }

  #release({ connections }: Member, id: number): void {
    connections.get(id)?.()
    connections.delete(id)
  }

  #onMessage(member: Member, message: FromWorker, onReady: () => void): void {
    if (message.kind === 'ready') {
      member.isReady = true
      this.#missing.delete(member.slot)
      onReady()
    } else if (message.kind === 'closed') this.#release(member, message.connection)
    else if (message.kind === 'metrics') {
      member.metrics = message.copy
      this.#deps.serverErrors.add(...message.serverErrors)
      member.readers.shift()?.()
    } else if (message.kind === 'event') this.#deps.events.record(message.event, message.fields)
    else
      void runStoreCall(this.#deps.store, this.#deps.log, message).then((result) => member.worker.postMessage(result))
  }

  /** Resolves when every worker has sent its metrics, or some are too busy for it. */
  #refreshMetrics(): Promise<void> {
    const all = [...this.#members].filter(({ isReady }) => isReady)
    const sent = all.map(({ worker, readers }) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      readers.push(resolve)
      worker.postMessage({ kind: 'metrics' } satisfies ToWorker)
      return promise
    })
    return waitAtMost(sent, LOOK_EVERY_MS)
  }

  /** Ends workers whose event loop is stuck. */
  #endStuck(): void {
    const timeoutMs = this.#deps.timeoutMs()
    const nowMs = performance.now()
    for (const member of this.#members) {
      const beat = Atomics.load(member.beats, 0)
      if (member.seen.beat !== beat || !member.isReady) member.seen = { beat, atMs: nowMs }
      else if (timeoutMs > 0 && nowMs - member.seen.atMs > timeoutMs) {
        this.#deps.log.error('a worker thread is stuck', { worker: member.slot })
        void member.worker.terminate()
      }
    }
  }
}
