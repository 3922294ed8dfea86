import { setTimeout as pause } from 'node:timers/promises'

export interface RetryRules {
  readonly attempts: number
  readonly firstDelayMs: number
  readonly mostDelayMs: number
  /** Whether the failure left nothing behind, so that beginning again is right. */
  readonly isWorthIt: (error: unknown) => boolean
}

/** Tries until it works, is not worth it, or has been tried often enough; then the last failure goes up. */
export async function withRetries<T>(rules: RetryRules, work: () => T | Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      if (attempt >= rules.attempts || !rules.isWorthIt(error)) throw error
      await pause(delayMsOf(rules, attempt))
    }
  }
}

/** Doubles with every attempt, and is spread so that those who collided do not meet again. */
export function delayMsOf(rules: Pick<RetryRules, 'firstDelayMs' | 'mostDelayMs'>, attempt: number): number {
  const whole = Math.min(rules.mostDelayMs, rules.firstDelayMs * 2 ** Math.min(attempt - 1, 30))
  return whole / 2 + (Math.random() * whole) / 2
}
