import type { Clock } from '../../base/clock.ts'
import { Refusal } from '../../base/errors.ts'
import type { Locks, Outbox } from './counters.ts'
import { findPeers, type Guess } from './guess.ts'

export type SignUpClient = Pick<Guess, 'peer' | 'directPeer'>

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
export function createSignUps(
  counters: Counters,
  outbox: Outbox,
  clock: Clock,
  report: (wait: Wait<SignUpCounter>) => void,
) {
  const add = (client: SignUpClient, count: number): void => {
    for (const { counter, key } of toKeys(client)) counters[counter].addFailures(key, count, clock.nowMs())
  }
  return {
    /** Throws `too_many_sign_ups`. */
    requireSignUp(client: SignUpClient): void {
      const waits = toKeys(client).map(({ counter, key }) => ({
        limit: counter,
        key,
        ms: counters[counter].waitMs(key),
      }))
      const longest = waits.reduce((most, wait) => (wait.ms > most.ms ? wait : most))
      if (longest.ms <= 0) return
      report(longest)
      throw new Refusal('too_many_sign_ups', { retryAfterSeconds: Math.ceil(longest.ms / 1000) })
    },
    /** Counts a user before it is created. */
    reserveSignUp: (client: SignUpClient): void => add(client, 1),
    /** It could not be created. */
    releaseSignUp: (client: SignUpClient): void => add(client, -1),
    /** It was created: the other nodes have to know. */
    noteSignUp(client: SignUpClient): void {
      for (const counted of toKeys(client)) outbox.add({ ...counted, count: 1 })
    },
  }
}

const toKeys = (client: SignUpClient): readonly { readonly counter: SignUpCounter; readonly key: string }[] => [
  ...findPeers(client).map((key) => ({ counter: 'sign-up', key }) as const),
  { counter: 'all-sign-ups', key: EVERY_CLIENT },
]
