import type { Clock } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'

/** One of several servers that are as good as each other. */
export interface Member<P> {
  readonly url: string
  readonly pool: P
  /** Requests under way. */
  open: number
  /** Until when it is left alone, because nobody could connect to it. */
  restsUntilMs: number
  /** Until when others are asked rather, because it did not answer. */
  avoidedUntilMs: number
  /** In a row. */
  failures: number
  /** Its last turn, as a count of all of them. */
  turn: number
}

export interface Balancer<P> {
  readonly members: readonly Member<P>[]
  /**
   * Of those that neither rest nor were tried already the one with the fewest requests under way, and of equals the one
   * whose turn is longest ago; those that are avoided only where there is no other. Where all of them rest, the one due
   * soonest is asked by one request at a time: it may be back. `undefined`: there is none.
   */
  choose(tried?: ReadonlySet<Member<P>>): Member<P> | undefined
  /** Nobody could connect to it: it rests, the longer the more often in a row. */
  rest(member: Member<P>): void
  /** It took too long. That may be the request's doing: it is avoided, as long as it would rest, and never refused. */
  avoid(member: Member<P>): void
  /** Its connection broke without an answer. Once may be one that was kept too long: it is avoided from the second on. */
  doubt(member: Member<P>): void
  /** It answered. */
  revive(member: Member<P>): void
  /** That nobody can be asked now, and when to try again. */
  refuse(): Refusal
}

const FIRST_REST_MS = 250
const LONGEST_REST_MS = 5000

export function createBalancer<P>(pools: readonly (readonly [url: string, pool: P])[], clock: Clock): Balancer<P> {
  const members = pools.map(([url, pool]) => createMember(url, pool))
  let turns = 0
  const avoid = (member: Member<P>): void => {
    if (member.avoidedUntilMs > clock.nowMs()) return
    member.avoidedUntilMs = clock.nowMs() + countFailure(member)
  }
  return {
    members,
    choose(tried) {
      const now = clock.nowMs()
      let best: Member<P> | undefined
      for (const member of members) {
        if (member.restsUntilMs > now || tried?.has(member)) continue
        if (best === undefined || isBefore(member, best, now)) best = member
      }
      best ??= findDueSoonest(members, tried)
      if (best) best.turn = turns += 1
      return best
    },
    rest(member) {
      // of many requests that fail at once the first counts
      if (member.restsUntilMs > clock.nowMs()) return
      member.restsUntilMs = clock.nowMs() + countFailure(member)
    },
    avoid,
    doubt(member) {
      if (member.failures === 0) member.failures = 1
      else avoid(member)
    },
    revive(member) {
      member.failures = 0
      member.restsUntilMs = 0
      member.avoidedUntilMs = 0
    },
    refuse() {
      const soonest = Math.min(...members.map(({ restsUntilMs }) => restsUntilMs))
      const seconds = Math.max(1, Math.ceil((soonest - clock.nowMs()) / 1000))
      return new Refusal('upstream_unavailable', { retryAfterSeconds: seconds })
    },
  }
}

const createMember = <P>(url: string, pool: P): Member<P> => ({
  url,
  pool,
  open: 0,
  restsUntilMs: 0,
  avoidedUntilMs: 0,
  failures: 0,
  turn: 0,
})

/** How long it is left alone now. */
function countFailure<P>(member: Member<P>): number {
  member.failures += 1
  return Math.min(FIRST_REST_MS * 2 ** (member.failures - 1), LONGEST_REST_MS)
}

function isBefore<P>(member: Member<P>, other: Member<P>, nowMs: number): boolean {
  const isAvoided = member.avoidedUntilMs > nowMs
  if (isAvoided !== other.avoidedUntilMs > nowMs) return !isAvoided
  return member.open < other.open || (member.open === other.open && member.turn < other.turn)
}

/** One that has a request under way is being tried by it: the rest wait for what becomes of that. */
function findDueSoonest<P>(
  members: readonly Member<P>[],
  tried: ReadonlySet<Member<P>> | undefined,
): Member<P> | undefined {
  let best: Member<P> | undefined
  for (const member of members) {
    if (member.open > 0 || tried?.has(member)) continue
    if (best === undefined || member.restsUntilMs < best.restsUntilMs) best = member
  }
  return best
}
