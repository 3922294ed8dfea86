/**
 * Challenges that authenticators sign. A challenge says itself what it is for and when it was made, under a MAC with
 * Cardea's own key: nothing is stored for one that is open, so no number of them costs memory. One that was used is noted
 * in the directory, on all nodes, until it would have expired.
 *
 *     seconds since the epoch (32 bits)  random (96 bits)  MAC (128 bits)
 */
import { createHmac, randomBytes } from 'node:crypto'
import { nowSeconds, type SharedClock } from '../../base/clock.ts'
import { isSameSecret } from '../../base/compare.ts'
import { frame, readBase64Url } from '../../base/encoding.ts'
import type { Directory } from '../../directory/directory.ts'

const HEAD_BYTES = 16
const MAC_BYTES = 16
const TIME_BYTES = 4

/** How long a user may take. */
export const CHALLENGE_SECONDS = 300

/** `sign-in`: any account. Otherwise for what, and in which session the options were asked for. */
export type ChallengeUse =
  | readonly ['sign-in']
  | readonly ['add', account: string, session: string]
  | readonly ['proof', account: string, session: string, target: string]

export interface ChallengeDeps {
  readonly directory: Pick<Directory, 'useOnce' | 'isUsed'>
  readonly clock: SharedClock
  ownKey(): Uint8Array
}

export function createChallenges({ directory, clock, ownKey }: ChallengeDeps) {
  const macOf = (head: Uint8Array, use: ChallengeUse) =>
    createHmac('sha256', ownKey())
      .update(frame(['passkey challenge', ...use]))
      .update(head)
      .digest()
      .subarray(0, MAC_BYTES)
  return {
    /** In base64url. */
    create(use: ChallengeUse): string {
      const head = randomBytes(HEAD_BYTES)
      head.writeUInt32BE(nowSeconds(clock))
      return Buffer.concat([head, macOf(head, use)]).toString('base64url')
    },
    /** Why it is not accepted; `undefined`: it was made for this use, recently, and was not used. */
    check(challenge: string, use: ChallengeUse, maxSeconds = CHALLENGE_SECONDS): string | undefined {
      const bytes = readBase64Url(challenge)
      if (bytes?.length !== HEAD_BYTES + MAC_BYTES) return 'the challenge was not made here'
      const head = bytes.subarray(0, HEAD_BYTES)
      if (!isSameSecret(macOf(head, use), bytes.subarray(HEAD_BYTES)))
        return 'the challenge was not made here, or for another use, session or account'
      const age = nowSeconds(clock) - head.readUIntBE(0, TIME_BYTES)
      if (Math.abs(age) > maxSeconds) return 'the challenge has expired'
      return directory.isUsed(toUse(challenge)) ? USED : undefined
    },
    /** Returns whether this use is the first, on any node. */
    spend: (challenge: string): Promise<boolean> =>
      // the clock of the node that made it may be ahead
      directory.useOnce(toUse(challenge), nowSeconds(clock) + 2 * CHALLENGE_SECONDS),
  }
}

export type Challenges = ReturnType<typeof createChallenges>

export const USED = 'the challenge was used already'

const toUse = (challenge: string): string => `passkey:${challenge}`
