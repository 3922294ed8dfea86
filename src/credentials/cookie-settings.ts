import { type Clock, nowSeconds } from '../base/clock.ts'

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

const MOST_RETIRED = 10

/**
 * The timeouts that cookies can have been made under: that of now first, then earlier ones for as long as their
 * cookies live. A cookie is bound to its timeout, because an ended session is remembered only until its last copy is
 * over: were a copy to live longer when the timeout is raised, the session would come back.
 */
export function createTimeouts(timeoutSeconds: () => number, clock: Clock): () => readonly number[] {
  let current = timeoutSeconds()
  let retired: readonly Retired[] = []
  return () => {
    const now = nowSeconds(clock)
    const latest = timeoutSeconds()
    const others = latest === current ? retired : [{ seconds: current, until: now + current }, ...retired]
    retired = others.filter(({ seconds, until }) => seconds !== latest && until > now).slice(0, MOST_RETIRED)
    current = latest
    return [current, ...retired.map(({ seconds }) => seconds)]
  }
}

/** Requests under way when a session ends can still carry a copy of it away. */
const STRAGGLING_SECONDS = 600

/** When the last copy is over of a session that ends now. */
export const lastExpiry = (issuedAt: number, now: number, timeouts: readonly number[]): number =>
  Math.max(issuedAt, now) + Math.max(...timeouts) + STRAGGLING_SECONDS
