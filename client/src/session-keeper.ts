// The session of a client: what is known of it, its renewal, and what waits for the next sign-in.
import type { Credential, LiveSession } from './credential.ts'
import { type Channel, now, openChannel, runAlone } from './platform.ts'
import type { Session } from './results.ts'

/** `expired`: it was not renewed in time. `revoked`: the server ended it before. */
export type Change = 'signed_in' | 'renewed' | 'signed_out' | 'expired' | 'revoked'

export type ChangeListener = (change: Change, session: Session | null) => void

/** What the tabs of an origin tell each other. It has no secret. */
interface Message {
  readonly change: Change
  readonly live: LiveSession | null
  /** When the tab asked the server, in milliseconds. */
  readonly askedAt: number
}

const MIN_DELAY_MS = 1000
const MAX_DELAY_MS = 86_400_000

/** PouchDB waits up to ten minutes before it repeats a request that failed. */
const RETRY_MS = 600_000

export class SessionKeeper {
  readonly #credential: Credential
  readonly #name: string
  readonly #channel: Channel | undefined
  readonly #listeners = new Set<ChangeListener>()
  readonly #waiting = new Set<(isResumed: boolean) => void>()
  /** `undefined`: the server has not been asked yet. */
  #live: LiveSession | null | undefined
  /** Later than that of `#live` if requests have renewed the session since. By `now()`, like `#endsAt`. */
  #expiresAt = 0
  /** Until when it can be renewed, if that is later. */
  #endsAt = 0
  /** When the user last signed in or out. */
  #beganAt = 0
  /** Whose session has ended without a sign-out. */
  #lost: string | undefined
  #renewing: Promise<LiveSession | null> | undefined
  /** Ends when what asks about the session, or changes it, is over. */
  #last: Promise<unknown> = Promise.resolve()
  #isChanging = false
  #isClosed = false
  #openRequests = 0
  #retriesUntil = 0
  #timer: ReturnType<typeof setTimeout> | undefined

  /** `isShared`: the tabs of this origin have one session. */
  constructor(base: string, credential: Credential, isShared: boolean) {
    this.#name = `cardea ${base}`
    this.#credential = credential
    this.#channel = isShared ? openChannel(this.#name) : undefined
    if (this.#channel)
      this.#channel.onmessage = ({ data }) => {
        const message = data as Message
        // a tab that asked before the user signed in or out here says nothing about the session of now
        if (message.askedAt >= this.#beganAt) this.#set(message)
      }
  }

  /** What is known now. `undefined`: nothing yet. */
  get live(): LiveSession | null | undefined {
    return this.#live
  }

  /** Who was signed in when this program, or an earlier run of it, last asked the server. */
  async findCached(): Promise<Session | null> {
    return this.#live === undefined ? this.#credential.findCached() : (this.#live?.session ?? null)
  }

  onChange(listener: ChangeListener): () => void {
    if (typeof listener !== 'function')
      throw new TypeError('onChange takes a function: onChange((change, session) => …).')
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Asks the server after a request was rejected. A renewal that began before says nothing about that. */
  async check(): Promise<LiveSession | null> {
    await this.#renewing?.catch(() => {})
    return this.renew()
  }

  /** Renews the session, unless another tab does so meanwhile. */
  renew(): Promise<LiveSession | null> {
    const before = this.#live
    this.#renewing ??= this.#runAlone(async () => {
      if (this.#live && this.#live !== before) return this.#live
      const askedAt = Date.now()
      const next = await this.#credential.renew()
      // the user has signed in or out meanwhile
      if (this.#live !== before) return this.#live ?? null
      const change = this.#findChange(next)
      if (change) this.#announce(change, next, askedAt)
      else this.#keep(next)
      return next
    }).finally(() => {
      this.#renewing = undefined
      this.#schedule()
    })
    return this.#renewing
  }

  /**
   * Makes a change that may end sessions of the user. Until its reply is here, the server may reject this session, too:
   * what happens to it is found out afterwards. `work` must not renew the session itself, which would wait for it.
   */
  change<T>(work: () => Promise<T>): Promise<T> {
    return this.#runAlone(async () => {
      this.#isChanging = true
      try {
        return await work()
      } finally {
        this.#isChanging = false
      }
    })
  }

  /** One after the other in this tab, and in all tabs where the browser has locks. */
  #runAlone<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(() => {
      this.requireOpen()
      return runAlone(this.#name, work)
    })
    this.#last = result.catch(() => {})
    return result
  }

  /** Throws after `close`. */
  requireOpen(): void {
    if (this.#isClosed) throw new Error('This client is closed: close() was called. Create another one.')
  }

  /** Before a request. If the renewal fails, the request is sent as long as the token is valid. */
  async renewIfDue(): Promise<void> {
    if (!(await this.#credential.isDue())) return
    try {
      await this.renew()
    } catch (error) {
      if (await this.#credential.hasExpired()) throw error
    }
  }

  #findChange(next: LiveSession | null): Change | undefined {
    const before = this.#live
    // another user has signed in without this client, as at the sign-in page of the server
    if (next && before && next.session.name !== before.session.name) return 'signed_in'
    if (next && before) return next.expiresAt === before.expiresAt ? undefined : 'renewed'
    if (next) return before === null ? 'signed_in' : undefined
    if (!before) return undefined
    return now() >= Math.max(this.#endsAt, this.#expiresAt) ? 'expired' : 'revoked'
  }

  signedIn(live: LiveSession): void {
    this.#announce('signed_in', live)
  }

  signedOut(): void {
    this.#announce('signed_out', null)
  }

  #announce(change: Change, live: LiveSession | null, askedAt = Date.now()): void {
    const message: Message = { change, live, askedAt }
    this.#channel?.postMessage(message)
    this.#set(message)
  }

  #set({ change: said, live, askedAt }: Message): void {
    // the tab that renewed the session may not know that it is another one for this tab
    const change = (said === 'renewed' && this.#findChange(live)) || said
    const isEnd = change === 'expired' || change === 'revoked'
    if (change === 'signed_in' || change === 'signed_out') this.#beganAt = askedAt
    // two tabs may notice it at the same time; and a change of this tab may be the reason
    if (isEnd && (this.#live === null || this.#isChanging)) return
    if (isEnd) this.#lost = this.#live?.session.name ?? this.#lost
    else this.#resume(live?.session.name)
    this.#keep(live)
    for (const listener of this.#listeners) listener(change, live?.session ?? null)
  }

  #keep(live: LiveSession | null): void {
    this.#live = live
    this.#credential.keepCached?.(live?.session ?? null)
    const toOwn = (time = 0) => now() + (time - Date.now())
    this.#expiresAt = toOwn(live?.expiresAt)
    this.#endsAt = toOwn(live?.endsAt)
    this.#schedule()
  }

  /** Only requests of the same user go on: those of another would reach a stranger's data. */
  #resume(name: string | undefined): void {
    for (const resolve of this.#waiting) resolve(name === this.#lost)
    this.#waiting.clear()
    this.#lost = undefined
  }

  /** Waits while the session has ended without a sign-out. `false`: the user has signed out, or another one in. */
  async waitForSession(signal: AbortSignal | null | undefined): Promise<boolean> {
    if (this.#lost === undefined) return this.#live !== null
    signal?.throwIfAborted()
    return new Promise((resolve, reject) => {
      const abort = () => {
        this.#waiting.delete(end)
        reject(signal?.reason)
      }
      const end = (isResumed: boolean) => {
        signal?.removeEventListener('abort', abort)
        resolve(isResumed)
      }
      this.#waiting.add(end)
      signal?.addEventListener('abort', abort, { once: true })
    })
  }

  get isLost(): boolean {
    return this.#lost !== undefined
  }

  /** A request begins. Its session is kept alive until the request ends. */
  begin(): OpenRequest {
    this.requireOpen()
    let isOpen = true
    this.#openRequests += 1
    this.#schedule()
    return {
      accepted: () => {
        const { slidingMs } = this.#live ?? {}
        if (slidingMs !== undefined) this.#expiresAt = now() + slidingMs
      },
      end: (hasFailed) => {
        if (!isOpen) return
        isOpen = false
        this.#openRequests -= 1
        this.#retriesUntil = hasFailed ? now() + RETRY_MS : 0
      },
    }
  }

  /** Looks again at half of the time that is left, so that several attempts fit in if the server cannot be reached. */
  #schedule(): void {
    const expiresAt = this.#expiresAt
    const left = expiresAt - now()
    if (this.#timer !== undefined || left <= 0 || !this.#isUsed()) return
    // tabs that renew at the same moment would all send a request
    const delay = Math.min(Math.max(left / (2 + Math.random() / 2), MIN_DELAY_MS), MAX_DELAY_MS)
    const timer = setTimeout(() => {
      this.#timer = undefined
      // a request has renewed it meanwhile, or nothing needs it
      if (this.#expiresAt > expiresAt || !this.#isUsed()) this.#schedule()
      else this.renew().catch(() => {})
    }, delay)
    this.#timer = timer
    // a program in Node ends although it waits; in a browser this is a number
    const { unref } = Object(timer) as { unref?(): void }
    unref?.call(timer)
  }

  #isUsed(): boolean {
    return this.#openRequests > 0 || now() < this.#retriesUntil
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#channel?.close()
    this.#resume(undefined)
    this.#listeners.clear()
  }
}

interface OpenRequest {
  /** The server has accepted the session, which may prolong it. */
  accepted(): void
  /** `hasFailed`: the server could not be reached, so the request may be repeated. */
  end(hasFailed: boolean): void
}
