/** The source of the time. Tests use one that they can set. */
export interface Clock {
  /** Milliseconds since the epoch. */
  nowMs(): number
}

/** The time that all nodes of a store have in common. */
export interface SharedClock extends Clock {
  /** The time by which records are deleted. It is never ahead of the other, and does not follow a clock that jumps ahead. */
  readonly purge: Clock
}

export const SYSTEM_CLOCK: Clock = Object.freeze({ nowMs: () => Date.now() })

/** For durations: it has no date, and it does not jump when the system clock is set. */
export const MONOTONIC_CLOCK: Clock = Object.freeze({ nowMs: () => performance.now() })

export const nowSeconds = (clock: Clock): number => Math.floor(clock.nowMs() / 1000)

const UTC = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z)?$/

/** Reads a day or a time in UTC, as `2030-12-31T18:00:00Z`, in seconds since the epoch. */
export function readUtcTime(text: string): number | undefined {
  const ms = UTC.test(text) ? Date.parse(text) : Number.NaN
  // a day that does not exist, such as 2030-02-31, is parsed as a later one
  const isExact = ms >= 0 && new Date(ms).toISOString().startsWith(text.slice(0, DAY_LENGTH))
  return isExact ? Math.floor(ms / 1000) : undefined
}

const DAY_LENGTH = '2030-12-31'.length

const ISO = /^\d{4}(?:-\d\d(?:-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?)?)?$/

/** Reads a time of ISO 8601 with its zone, or a day, month or year in UTC, in milliseconds. `NaN`: it is none. */
export const readIsoTime = (text: string): number => (ISO.test(text) ? Date.parse(text) : Number.NaN)

export const renderUtcTime = (seconds: number): string => new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')
