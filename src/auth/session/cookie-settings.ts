import { type Clock, nowSeconds } from '../../base/clock.ts'

/** How cookies of sessions are made and judged, as the options say now. */
export interface CookieSettings {
  /** Seconds since the last request after which a session is over. */
  readonly timeoutSeconds: number
  /** As `node:crypto` names them; the first signs, all verify. Never empty. */
  readonly algorithms: readonly [string, ...string[]]
}

interface Retired {
  readonly seconds: number
  readonly until: number
}

const MAX_RETIRED = 10

/** The timeouts that cookies can have been made under. */
export interface CookieTimeouts {
  /** That of now first, then earlier ones for as long as their cookies live. */
  living(): readonly number[]
  replace(seconds: number): void
}

/**
 * A cookie is bound to its timeout, because an ended session is remembered only until its last copy is over: were a
 * copy to live longer when the timeout is raised, the session would come back.
 */
export function createCookieTimeouts(first: number, clock: Clock): CookieTimeouts {
  let current = first
  let alone: readonly number[] = [first]
  let retired: readonly Retired[] = []
  const isAlive = ({ until }: Retired) => nowSeconds(clock) < until
  return {
    living: () => (retired.length === 0 ? alone : [current, ...retired.filter(isAlive).map(({ seconds }) => seconds)]),
    replace(seconds) {
      if (seconds === current) return
      const others = [{ seconds: current, until: nowSeconds(clock) + current }, ...retired].filter(isAlive)
      retired = others.filter((old) => old.seconds !== seconds).slice(0, MAX_RETIRED)
      current = seconds
      alone = [seconds]
    },
  }
}

/** Requests under way when a session ends can still carry a copy of it away. */
const STRAGGLING_SECONDS = 600

/** When the last copy is over of a session that ends now. */
export const lastExpiry = (issuedAt: number, now: number, timeouts: readonly number[]): number =>
  Math.max(issuedAt, now) + Math.max(...timeouts) + STRAGGLING_SECONDS
