/** The source of the time. Tests use one that they can set. */
export interface Clock {
  /** Milliseconds since the epoch. */
  nowMs(): number
}

export const SYSTEM_CLOCK: Clock = Object.freeze({ nowMs: () => Date.now() })

export const nowSeconds = (clock: Clock): number => Math.floor(clock.nowMs() / 1000)
