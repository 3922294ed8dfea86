/** A bounded map of counters. */
export interface Counters<V> {
  get(key: string): V | undefined
  set(key: string, value: V): void
  isEmpty(): boolean
}

export interface CountersOptions<V> {
  /** How many counters are kept; asked each time. */
  readonly max: () => number
  /** How much a counter matters now; 0: nothing is lost with it. */
  readonly rank: (value: V) => number
}

/** Part of the table that is cleared when it is full, so that sorting is rare. */
const CLEARED_PART = 16

/**
 * When the table is full, the counters with the lowest rank go, the oldest of them first. So an attacker who fills the
 * table with made-up names pushes out other made-up names: to reach a counter with n failures it must first make n
 * failures under every other key, and each failure costs it a password check.
 */
export function createCounters<V>({ max, rank }: CountersOptions<V>): Counters<V> {
  const counters = new Map<string, V>()

  const makeRoom = () => {
    const surplus = counters.size + 1 - max()
    if (surplus <= 0) return
    const count = Math.max(surplus, Math.floor(max() / CLEARED_PART))
    const ranked = [...counters].map(([key, value]) => [key, rank(value)] as const)
    ranked.sort(([, one], [, other]) => one - other)
    for (const [key] of ranked.slice(0, count)) counters.delete(key)
  }

  return {
    get: (key) => counters.get(key),
    set(key, value) {
      if (!counters.has(key)) makeRoom()
      counters.set(key, value)
    },
    isEmpty: () => counters.size === 0,
  }
}
