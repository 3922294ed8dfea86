import type { Clock } from '../../../base/clock.ts'
import { Refusal } from '../../../base/errors.ts'
import { createWakeableSleep } from '../../../base/sleep.ts'
import { ANONYMOUS, expiryOf } from '../../../directory/identity.ts'
import type { RequestContext } from '../../../http/request-context.ts'
import type { CredentialWatch, UsersDeps } from './deps.ts'

/** Why a wait ended. `revoked`: the credential of the request has expired or was revoked. */
export type WaitResult = 'changes' | 'heartbeat' | 'timeout' | 'disconnected' | 'revoked'

interface WaitOptions {
  /** With heartbeats there is no timeout. */
  readonly heartbeatMs: number | undefined
  readonly timeoutMs: number
}

/** The store is polled this often, because its notifications can get lost. */
const POLL_MS = 1000

/** Waits for the next reason to continue a feed. */
export class ChangesWait {
  readonly #sleep = createWakeableSleep()
  readonly #clock: Clock
  readonly #signal: AbortSignal
  readonly #expiresMs: number
  readonly #heartbeatMs: number
  readonly #timeoutMs: number
  readonly #credential: CredentialWatch
  // a change may have come before the listener was added
  #mayHaveChanges = true
  #isRevoked = false
  #heartbeatAt = 0
  #timeoutAt = 0

  /** To be made before anything is read: whatever ends the credential from then on ends the feed. */
  constructor({ changes, watchCredential, clock }: UsersDeps, context: RequestContext, options: WaitOptions) {
    const { heartbeatMs, timeoutMs } = options
    this.#clock = clock
    this.#signal = context.signal
    this.#expiresMs = 1000 * expiryOf(context.authenticated ?? ANONYMOUS)
    this.#heartbeatMs = heartbeatMs ?? Number.POSITIVE_INFINITY
    this.#timeoutMs = heartbeatMs === undefined ? timeoutMs : Number.POSITIVE_INFINITY
    this.#credential = watchCredential(context, () => this.#onRevoked())
    const removeListener = changes.onWake(() => this.#onChange())
    this.#signal.addEventListener('abort', this.#sleep.wake)
    context.onGone(() => {
      this.#signal.removeEventListener('abort', this.#sleep.wake)
      this.#credential.close()
      removeListener()
    })
    this.restart()
  }

  async next(): Promise<WaitResult> {
    this.#sleep.beginWork()
    const result = this.#check()
    if (result) return result
    const untilDue = Math.min(this.#heartbeatAt, this.#timeoutAt) - performance.now()
    await this.#sleep.sleep(Math.min(POLL_MS, Math.max(0, untilDue)))
    return this.#check() ?? 'changes'
  }

  /** Changes were sent: heartbeat and timeout count from now. */
  restart(): void {
    const now = performance.now()
    this.#heartbeatAt = now + this.#heartbeatMs
    this.#timeoutAt = now + this.#timeoutMs
  }

  /** Throws if the credential of the request has ended. */
  async requireCredential(): Promise<void> {
    if (!(await this.#credential.isValid())) throw new Refusal('authentication_required')
  }

  #check(): WaitResult | undefined {
    if (this.#signal.aborted) return 'disconnected'
    if (this.#isRevoked || this.#clock.nowMs() >= this.#expiresMs) return 'revoked'
    if (this.#mayHaveChanges) {
      this.#mayHaveChanges = false
      return 'changes'
    }
    const now = performance.now()
    if (now >= this.#timeoutAt) return 'timeout'
    if (now < this.#heartbeatAt) return undefined
    this.#heartbeatAt = now + this.#heartbeatMs
    return 'heartbeat'
  }

  #onChange(): void {
    this.#mayHaveChanges = true
    this.#sleep.wake()
  }

  #onRevoked(): void {
    this.#isRevoked = true
    this.#sleep.wake()
  }
}
