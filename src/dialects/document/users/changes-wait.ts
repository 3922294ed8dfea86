import type { Clock } from '../../../base/clock.ts'
import { createWakeableSleep } from '../../../base/sleep.ts'
import { type Authenticated, expiryOf } from '../../../directory/identity.ts'
import type { Revocation } from '../../../directory/revocation.ts'
import type { UsersDeps } from './deps.ts'

/** Why a wait ended. `revoked`: the credential of the request has expired or was revoked. */
export type WaitResult = 'changes' | 'heartbeat' | 'timeout' | 'disconnected' | 'revoked'

export interface WaitOptions {
  readonly authenticated: Authenticated
  /** With heartbeats there is no timeout. */
  readonly heartbeatMs: number | undefined
  readonly timeoutMs: number
  readonly signal: AbortSignal
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
  readonly #removeListeners: readonly (() => void)[]
  // a change may have come before the listener was added
  #mayHaveChanges = true
  #isRevoked = false
  #heartbeatAt = 0
  #timeoutAt = 0

  constructor({ changes, directory, clock }: UsersDeps, options: WaitOptions) {
    const { authenticated, heartbeatMs, timeoutMs, signal } = options
    this.#clock = clock
    this.#signal = signal
    this.#expiresMs = 1000 * expiryOf(authenticated)
    this.#heartbeatMs = heartbeatMs ?? Number.POSITIVE_INFINITY
    this.#timeoutMs = heartbeatMs === undefined ? timeoutMs : Number.POSITIVE_INFINITY
    this.#removeListeners = [
      changes.onWake(() => this.#onChange()),
      directory.onRevoked((revocation) => this.#onRevoked(revocation, authenticated)),
      () => signal.removeEventListener('abort', this.#sleep.wake),
    ]
    signal.addEventListener('abort', this.#sleep.wake)
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

  close(): void {
    for (const remove of this.#removeListeners) remove()
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

  #onRevoked(revocation: Revocation, authenticated: Authenticated): void {
    if (!isAffected(authenticated, revocation)) return
    this.#isRevoked = true
    this.#sleep.wake()
  }
}

/** Whether a revocation concerns the credential, or may concern it. */
function isAffected({ identity, credential }: Authenticated, revocation: Revocation): boolean {
  if (revocation.kind === 'everything') return true
  if (revocation.kind === 'session') return revocation.id === credential?.session?.id
  return revocation.name === identity.name
}
