import { setTimeout as sleep } from 'node:timers/promises'

export interface RetryRules {
  readonly attempts: number
  readonly firstDelayMs: number
  readonly maxDelayMs: number
  /** Whether the failed attempt left no effect, so that it is safe to repeat. */
  readonly isRetryable: (error: unknown) => boolean
}

/** Repeats the work until it succeeds; throws the last error if that is not retryable or the attempts are used up. */
export async function withRetries<T>(rules: RetryRules, work: () => T | Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      if (attempt >= rules.attempts || !rules.isRetryable(error)) throw error
      await sleep(toDelayMs(rules, attempt))
    }
  }
}

/** Doubles with every attempt, with random jitter so that colliding clients do not collide again. */
export function toDelayMs(rules: Pick<RetryRules, 'firstDelayMs' | 'maxDelayMs'>, attempt: number): number {
  const whole = Math.min(rules.maxDelayMs, rules.firstDelayMs * 2 ** Math.min(attempt - 1, 30))
  return whole / 2 + (Math.random() * whole) / 2
}
