/**
 * Watches the servers of a store from one connection to each: which of them to use, and what other nodes write there. It
 * is the only one to decide, so that all connections of a process lead to the same server.
 */
import type { Client } from 'pg'
import { messageOf, Refusal } from '../../base/errors.ts'
import type { Log } from '../../base/log.ts'
import { keepRepeating, spaceOut } from '../../base/sleep.ts'
import { toDelayMs } from '../retry.ts'
import { createClient } from './client.ts'
import {
  findPrimary,
  isCopy,
  isReplaced,
  nameServer,
  type Primary,
  READ_ONLY,
  REPLACED,
  readState,
  refuseServer,
  type ServerState,
} from './servers.ts'

export const CHANNEL = 'cardea_changes'

/** A server that no longer accepts writes is left within a second. */
const LOOK_MS = 400
/**
 * Notifications of many changes wake a node ten times a second, so that one read brings several: without it, 64 nodes
 * took so much of two cores of PostgreSQL that of 100 changes a second 27 were made.
 */
const WAKE_GAP_MS = 100
const BACK_OFF = { firstDelayMs: 250, maxDelayMs: 1000 }
/** Without an answer for this long, the connection is given up. */
const MAX_LOOK_MS = 2000

export interface ServerWatchOptions {
  readonly urls: readonly string[]
  /** The server to begin with, and what it was; left out: the first one. */
  readonly primary?: Primary
  /** Whether the server in use tells of what other nodes write. A pooler between may not. */
  readonly listens: boolean
  /** Other nodes may have written. */
  readonly wake: () => void
  /** The connections to the server in use must end: another one has its place, or it accepts no writes. */
  readonly leave: () => void
  readonly log: Log
}

export class ServerWatch {
  readonly #options: ServerWatchOptions
  readonly #probes: readonly Probe[]
  #current: string
  #newest: ServerState | undefined
  #stopProbes: readonly (() => Promise<void>)[] = []

  constructor(options: ServerWatchOptions) {
    const { urls, primary, log } = options
    this.#options = options
    this.#current = primary?.url ?? urls[0] ?? ''
    this.#newest = primary?.state
    this.#probes = urls.map((url) => new Probe(url, log))
  }

  /** The URL of the server to use. */
  readonly current = (): string => this.#current

  start(): void {
    if (this.#stopProbes.length > 0) return
    this.#stopProbes = this.#probes.map((probe) =>
      keepRepeating(async (stopped) => {
        const delayMs = await probe.look(stopped)
        if (!stopped.aborted) await this.#decide()
        return delayMs
      }),
    )
  }

  async stop(): Promise<void> {
    const stopped = this.#stopProbes.map((stop) => stop())
    for (const probe of this.#probes) probe.drop()
    await Promise.all(stopped)
  }

  /** Throws if a server in this state must not be used. */
  requireUsable(state: ServerState): void {
    if (!state.isWritable) throw refuseServer(READ_ONLY)
    if (isReplaced(state, this.#newest)) throw refuseServer(REPLACED)
    this.#note(state)
  }

  #note(state: ServerState): void {
    if (!this.#newest || state.system !== this.#newest.system || isReplaced(this.#newest, state)) this.#newest = state
  }

  async #decide(): Promise<void> {
    const { listens, wake, leave, log } = this.#options
    const used = this.#probes.find(({ url }) => url === this.#current)
    // another address may respond sooner than the one in use
    if (!used?.hasLooked) return
    const next = this.#choose(used)
    if (!next?.state) {
      if (used.state) leave()
      return
    }
    this.#note(next.state)
    if (next !== used) {
      log.warn('the store is used at another server', {
        from: nameServer(this.#current),
        to: nameServer(next.url),
      })
      this.#current = next.url
      leave()
    }
    if (listens) await next.listen(wake)
  }

  /**
   * The server in use, unless it accepts no writes or another one was promoted in its place. `undefined`: none can be used.
   * Two addresses may lead to the same server, so neither is better.
   */
  #choose(used: Probe): Probe | undefined {
    const usable = this.#probes.filter((probe) => probe.state?.isWritable && this.#mayUse(probe))
    const newest = findPrimary(usable)
    const isKept = used.state && usable.includes(used) && !isReplaced(used.state, newest?.state)
    return isKept ? used : newest
  }

  /** At another address there must be a copy of the server in use: anything else is another store, such as an empty one. */
  #mayUse({ url, state }: Pick<Probe, 'url' | 'state'>): boolean {
    if (!state || isReplaced(state, this.#newest)) return false
    return url === this.#current || isCopy(state, this.#newest)
  }
}

/** One connection that asks a server again and again what it is. */
class Probe {
  readonly url: string
  /** `undefined`: it cannot be reached. */
  state: ServerState | undefined
  /** Whether the server was asked at least once, so that `state` is known. */
  hasLooked = false
  readonly #log: Log
  #client: Client | undefined
  #isListening = false
  #failures = 0

  constructor(url: string, log: Log) {
    this.url = url
    this.#log = log
  }

  /** Returns when to look again. Never rejects. */
  async look(stopped: AbortSignal): Promise<number> {
    try {
      this.#client ??= await this.#connect(stopped)
      this.state = await readState(this.#client, { maxMs: MAX_LOOK_MS })
      this.#failures = 0
      return LOOK_MS
    } catch (error) {
      this.#fail(error, stopped)
      return toDelayMs(BACK_OFF, this.#failures)
    } finally {
      this.hasLooked = true
    }
  }

  /** Calls `wake` after notifications from now on, and once for those that were sent before. Never rejects. */
  async listen(wake: () => void): Promise<void> {
    if (this.#isListening || !this.#client) return
    const client = this.#client
    this.#isListening = true
    try {
      client.on('notification', spaceOut(wake, WAKE_GAP_MS))
      await client.query(`LISTEN ${CHANNEL}`)
      wake()
    } catch {
      this.drop()
    }
  }

  drop(): void {
    this.state = undefined
    this.#isListening = false
    // client.end() would wait for a response
    this.#client?.connection.stream.destroy()
    this.#client = undefined
  }

  async #connect(stopped: AbortSignal): Promise<Client> {
    const client = createClient(this.url, { query_timeout: MAX_LOOK_MS, connectionTimeoutMillis: MAX_LOOK_MS })
    const destroy = () => client.connection.stream.destroy()
    client.on('error', () => this.#client === client && this.drop())
    // stopping must not wait for a server that does not respond
    stopped.addEventListener('abort', destroy, { once: true })
    try {
      await client.connect()
      return client
    } catch (error) {
      destroy()
      throw error
    } finally {
      stopped.removeEventListener('abort', destroy)
    }
  }

  #fail(error: unknown, stopped: AbortSignal): void {
    this.drop()
    this.#failures += 1
    if (stopped.aborted) return
    const reason = error instanceof Refusal ? error.detail : messageOf(error)
    const fields = { server: nameServer(this.url), reason, failures: this.#failures }
    if (this.#failures === 1)
      this.#log.warn('a server of the store cannot be watched: changes of other nodes arrive later', fields)
    else this.#log.debug('a server of the store cannot be watched', fields)
  }
}
