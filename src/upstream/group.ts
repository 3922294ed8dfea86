import type { Clock } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'

/** One of several servers that are as good as each other. */
export interface Member<P> {
  readonly url: string
  readonly pool: P
  /** Requests under way. */
  open: number
  /** Until when it is left alone, because it refused a connection. */
  restsUntilMs: number
  failures: number
}

export interface Group<P> {
  readonly members: readonly Member<P>[]
  /** The one with the fewest requests under way that neither rests nor was tried already; `undefined`: there is none. */
  choose(tried?: ReadonlySet<Member<P>>): Member<P> | undefined
  /** It refused a connection: it rests, the longer the more often in a row. */
  rest(member: Member<P>): void
  /** It answered. */
  revive(member: Member<P>): void
  /** That nobody can be asked now, and when to try again. */
  refuse(): Refusal
}

const FIRST_REST_MS = 250
const LONGEST_REST_MS = 5000

export function createGroup<P>(pools: readonly (readonly [url: string, pool: P])[], clock: Clock): Group<P> {
  const members = pools.map(([url, pool]): Member<P> => ({ url, pool, open: 0, restsUntilMs: 0, failures: 0 }))
  return {
    members,
    choose(tried) {
      const now = clock.nowMs()
      let best: Member<P> | undefined
      for (const member of members) {
        if (member.restsUntilMs > now || tried?.has(member)) continue
        if (best === undefined || member.open < best.open) best = member
      }
      return best
    },
    rest(member) {
      // of many requests that fail at once the first counts
      if (member.restsUntilMs > clock.nowMs()) return
      member.failures += 1
      const ms = Math.min(FIRST_REST_MS * 2 ** (member.failures - 1), LONGEST_REST_MS)
      member.restsUntilMs = clock.nowMs() + ms
    },
    revive(member) {
      member.failures = 0
      member.restsUntilMs = 0
    },
    refuse() {
      const soonest = Math.min(...members.map(({ restsUntilMs }) => restsUntilMs))
      const seconds = Math.max(1, Math.ceil((soonest - clock.nowMs()) / 1000))
      return new Refusal('upstream_unavailable', { retryAfterSeconds: seconds })
    },
  }
}
