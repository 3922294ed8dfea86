/** The process that starts the workers of a server, watches them and replaces them. It opens no store and no door. */
import cluster, { type Worker } from 'node:cluster'
import type { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from '../base/log.ts'
import { returnUnconfirmed } from '../base/node-internals/unconfirmed-connections.ts'
import { waitAtMost } from '../base/sleep.ts'
import { shareNext } from '../base/turns.ts'
import { type FromWorker, type Member, Router, type ToWorker } from './router.ts'
import type { FromSupervisor, ToSupervisor, WorkerStart } from './worker-process.ts'

export interface SupervisorDeps {
  readonly count: number
  /** `forward` writes whole lines of workers. */
  readonly log: Log & { forward(lines: string): void }
  readonly start: WorkerStart
  /** How long a worker that is replaced may take before the next one is. */
  readonly graceMs: number
  /** How long a worker may take until it serves, if another one does already; 0: any time. */
  readonly startMs: number
}

/** A worker ended before it served. It has written why. */
export class WorkerFailed extends Error {
  override readonly name = 'WorkerFailed'
  readonly exitCode: number
  constructor(exitCode: number) {
    super('A worker could not start')
    this.exitCode = exitCode
  }
}

interface Running {
  readonly worker: Worker
  readonly member: Member
  readonly startedAtMs: number
  /** What it says when it serves. */
  readonly ready: Promise<unknown>
  /** It has ended, and all that it wrote has been read. */
  readonly ended: Promise<void>
  isReady: boolean
  /** Another one takes its place. */
  hasSuccessor: boolean
  /** When it last said that it is not stuck, and how long it may be. Until it serves: when it was started. */
  beatAtMs: number
  timeoutMs: number
}

const FIRST_DELAY_MS = 100
const MAX_DELAY_MS = 10_000
/** A worker that ran this long was not broken from the start. */
const HEALTHY_MS = 30_000
const LOOK_EVERY_MS = 1000
/** How long one that does not serve yet may take to end. */
const STOP_STARTING_MS = 5000
/** Sockets of the file system are created by this process. The worker that opens one widens its permissions. */
const OWNER_ONLY = 0o177

export class Supervisor {
  readonly #deps: SupervisorDeps
  readonly #router: Router
  readonly #running = new Set<Running>()
  readonly #watch: NodeJS.Timeout
  readonly #umask = process.umask()
  #lookedAtMs = performance.now()
  #failures = 0
  #hasServed = false
  #isClosing = false

  constructor(deps: SupervisorDeps) {
    this.#deps = deps
    this.#router = new Router(deps.count)
    cluster.setupPrimary({ serialization: 'advanced', stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
    this.#watch = setInterval(() => this.#endStuck(), LOOK_EVERY_MS)
    process.once('exit', () => {
      for (const { worker } of this.#running) worker.process.kill('SIGKILL')
    })
  }

  /** Resolves when all serve, with what the first said. Throws `WorkerFailed` if one does not: then all have ended. */
  async start(): Promise<unknown> {
    try {
      // alone: it creates the store and its secrets, and hashes passwords in files
      const first = await this.#open()
      await Promise.all(Array.from({ length: this.#deps.count - 1 }, () => this.#open()))
      return await first.ready
    } catch (error) {
      await this.stop()
      throw error
    }
  }

  /** Lets one worker read the configuration again. */
  reload(): void {
    for (const { worker, member } of this.#running) if (member.isFirst()) send(worker, { kind: 'reload' })
  }

  /** Resolves when all have ended. */
  async stop(): Promise<void> {
    this.#isClosing = true
    for (const running of this.#running) {
      if (!running.isReady) Object.assign(running, { beatAtMs: performance.now(), timeoutMs: STOP_STARTING_MS })
      send(running.worker, { kind: 'leave', departure: 'stop' })
    }
    await Promise.all([...this.#running].map(({ ended }) => ended))
    clearInterval(this.#watch)
  }

  /** Replaces all workers, one after the other. If they are being replaced already, this begins afterwards. */
  readonly #roll = shareNext(async (): Promise<void> => {
    const { log } = this.#deps
    try {
      for (const old of [...this.#running].filter(({ isReady }) => isReady)) await this.#replace(old)
      if (!this.#isClosing) log.info('workers were replaced')
    } catch {
      if (!this.#isClosing) log.error('a worker could not be started: those that serve stay')
    }
  })

  /** The worker leaves when its successor serves. One that ended meanwhile has a successor already. */
  async #replace(old: Running): Promise<void> {
    if (this.#isClosing || !this.#running.has(old)) return
    old.hasSuccessor = true
    try {
      await this.#open()
    } catch (error) {
      // the old one is better than none
      old.hasSuccessor = false
      if (!this.#isClosing && !this.#running.has(old)) void this.#keepRunning(this.#fork())
      throw error
    }
    old.member.setLeaving()
    send(old.worker, { kind: 'leave', departure: 'retire' })
    await waitAtMost([old.ended], this.#deps.graceMs + LOOK_EVERY_MS)
  }

  /** Resolves when it serves. From then on it is started again when it ends. */
  async #open(): Promise<Running> {
    const running = this.#fork()
    await running.ready
    void this.#keepRunning(running)
    return running
  }

  async #keepRunning(first: Running): Promise<void> {
    let running = first
    for (;;) {
      await running.ended
      if (running.hasSuccessor || this.#isClosing) return
      const isHealthy = performance.now() - running.startedAtMs > HEALTHY_MS
      this.#failures = isHealthy ? 1 : this.#failures + 1
      const delayMs = Math.min(FIRST_DELAY_MS * 2 ** (this.#failures - 1), MAX_DELAY_MS)
      this.#deps.log.error('a worker has ended and is started again', { worker: running.member.place, delayMs })
      await pause(delayMs)
      if (this.#isClosing) return
      running = this.#fork()
    }
  }

  #fork(): Running {
    process.umask(this.#umask)
    const worker = cluster.fork()
    process.umask(OWNER_ONLY)
    returnUnconfirmed(worker.process)
    const member = this.#router.add({ send: (message) => send(worker, message), kill: () => this.#kill(worker) })
    const ready = Promise.withResolvers<unknown>()
    // a worker that is started again is not waited for
    ready.promise.catch(() => {})
    const ended = Promise.withResolvers<void>()
    const nowMs = performance.now()
    const running: Running = {
      worker,
      member,
      startedAtMs: nowMs,
      ready: ready.promise,
      ended: ended.promise,
      isReady: false,
      hasSuccessor: false,
      beatAtMs: nowMs,
      // the first may have a store to update
      timeoutMs: this.#hasServed ? this.#deps.startMs : 0,
    }
    this.#running.add(running)
    worker.on('message', (message: ToSupervisor | FromWorker) => this.#receive(running, message, ready.resolve))
    worker.on('error', (error) => this.#deps.log.error('a worker has failed', { worker: member.place, error }))
    // not at the end of its output: the others wait for it
    worker.process.once('exit', () => member.leave())
    worker.process.once('close', (code: number | null) => {
      member.leave()
      this.#running.delete(running)
      ready.reject(new WorkerFailed(code ?? 1))
      ended.resolve()
    })
    this.#forward(worker)
    return running
  }

  #forward({ process: { stdout, stderr } }: Worker): void {
    if (stdout) forwardLines(stdout, (lines) => void process.stdout.write(lines))
    if (stderr) forwardLines(stderr, this.#deps.log.forward)
  }

  #receive(running: Running, message: ToSupervisor | FromWorker, setReady: (value: unknown) => void): void {
    running.member.hear()
    if (message.kind === 'hello') this.#greet(running)
    else if (message.kind === 'ready') {
      this.#hasServed = true
      running.isReady = true
      running.beatAtMs = performance.now()
      running.member.setReady()
      setReady(message.value)
    } else if (message.kind === 'beat') {
      running.beatAtMs = performance.now()
      running.timeoutMs = message.timeoutMs
    } else if (message.kind === 'leaving') running.member.setLeaving()
    else if (message.kind === 'roll') void this.#roll()
    else running.member.receive(message)
  }

  /** A worker receives nothing that was sent earlier. */
  #greet({ worker }: Running): void {
    send(worker, { kind: 'start', ...this.#deps.start })
    if (this.#isClosing) send(worker, { kind: 'leave', departure: 'stop' })
  }

  #kill(worker: Worker): void {
    this.#deps.log.error('a worker has not followed a change in time and is ended', { process: worker.process.pid })
    worker.process.kill('SIGKILL')
  }

  /** Ends workers whose event loop is stuck, and those that do not begin to serve. */
  #endStuck(): void {
    const nowMs = performance.now()
    // this process itself was suspended: what workers have said meanwhile is read after this
    const wasSuspended = nowMs - this.#lookedAtMs > 2 * LOOK_EVERY_MS
    this.#lookedAtMs = nowMs
    for (const running of this.#running) {
      const { worker, member, isReady, timeoutMs, beatAtMs } = running
      if (wasSuspended) running.beatAtMs = nowMs
      else if (timeoutMs > 0 && nowMs - beatAtMs > timeoutMs) {
        const what = isReady ? 'is stuck' : 'has not started in time'
        this.#deps.log.error(`a worker ${what} and is ended`, { worker: member.place })
        worker.process.kill('SIGKILL')
      }
    }
  }
}

/** Errors are ignored: the worker has ended, or is about to. */
function send(worker: Worker, message: FromSupervisor | ToWorker): void {
  if (worker.isConnected()) worker.send(message, () => {})
}

/** Writes whole lines: those of another worker never begin within one. */
function forwardLines(stream: Readable, write: (lines: string) => void): void {
  let rest = ''
  stream.setEncoding('utf8')
  stream.on('data', (text: string) => {
    const end = text.lastIndexOf('\n') + 1
    if (end > 0) write(rest + text.slice(0, end))
    rest = end > 0 ? text.slice(end) : rest + text
  })
  stream.on('end', () => {
    if (rest !== '') write(`${rest}\n`)
  })
}
