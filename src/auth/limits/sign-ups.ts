import type { Clock } from '../../base/clock.ts'
import { Refusal } from '../../base/errors.ts'
import type { Locks, Outbox } from './counters.ts'
import { findPeers, type Guess } from './guess.ts'

export type SignUpLimits = ReturnType<typeof createSignUps>

type SignUpClient = Pick<Guess, 'peer' | 'directPeer'>

type Counters = Readonly<Record<SignUpCounter, Locks>>
export type SignUpCounter = 'sign-up' | 'all-sign-ups'

/** A limit that is reached. */
export interface Wait<Limit> {
  readonly limit: Limit
  readonly key: string
  readonly ms: number
}

const EVERY_CLIENT = 'all'

/** Limits the users that clients create for themselves: from one address, and in total. */
export const createSignUps = (
  counters: Counters,
  outbox: Outbox,
  clock: Clock,
  report: (wait: Wait<SignUpCounter>) => void,
) => ({
  /** Creates a user, or throws `too_many_sign_ups`. A user that cannot be created does not count. */
  async signUp<T>(client: SignUpClient, create: () => Promise<T>): Promise<T> {
    const keys = toKeys(client)
    const add = (count: number) => {
      for (const { counter, key } of keys) counters[counter].addFailures(key, count, clock.nowMs())
    }
    requireAllowed(keys, counters, report)
    // before the password is hashed, so that requests at the same time do not pass the limit together
    add(1)
    try {
      const created = await create()
      for (const counted of keys) outbox.add({ ...counted, count: 1 })
      return created
    } catch (error) {
      add(-1)
      throw error
    }
  },
})

type Counted = ReturnType<typeof toKeys>[number]

const toKeys = (client: SignUpClient): readonly { readonly counter: SignUpCounter; readonly key: string }[] => [
  ...findPeers(client).map((key) => ({ counter: 'sign-up', key }) as const),
  { counter: 'all-sign-ups', key: EVERY_CLIENT },
]

function requireAllowed(
  keys: readonly Counted[],
  counters: Counters,
  report: (wait: Wait<SignUpCounter>) => void,
): void {
  const waits = keys.map(({ counter, key }) => ({ limit: counter, key, ms: counters[counter].waitMs(key) }))
  const longest = waits.reduce((most, wait) => (wait.ms > most.ms ? wait : most))
  if (longest.ms <= 0) return
  report(longest)
  throw new Refusal('too_many_sign_ups', { retryAfterSeconds: Math.ceil(longest.ms / 1000) })
}
