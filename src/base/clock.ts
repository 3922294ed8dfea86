/** Where time comes from, so that a test can move it. */
export interface Clock {
  /** Milliseconds since the epoch. */
  nowMs(): number
}

export const SYSTEM_CLOCK: Clock = Object.freeze({ nowMs: () => Date.now() })

export const nowSeconds = (clock: Clock): number => Math.floor(clock.nowMs() / 1000)
