import { hash, randomBytes } from 'node:crypto'
import { type CacheCounts, createLiveCache } from '../base/caches.ts'
import { type Account, needsSecondStep } from '../directory/account.ts'
import type { Directory } from '../directory/directory.ts'
import { checkIterations } from '../passwords/hash-policy.ts'
import type { PasswordLimits } from './limits/together.ts'
import { type Attempt, type KnownVersion, type SignInDeps, toGuess } from './sign-in.ts'

export interface KnownHeadersDeps extends Pick<SignInDeps, 'iterationLimits'> {
  readonly limits: Pick<PasswordLimits, 'isAllowed' | 'countSuccess'>
  readonly directory: Pick<Directory, 'peekAccount' | 'isUpgradeDue'>
  noteSignIn(name: string, peer: string): void
  /** How many headers are remembered; 0: none. */
  size(): number
  /** Counts the uses of a remembered header. */
  readonly counts: CacheCounts
}

/** The addresses that an attempt comes from. */
export type Peers = Pick<Attempt, 'peer' | 'directPeer'>

/** The account of a header whose password was found right. */
export interface KnownHeader {
  readonly name: string
  /** Version of the stored password. */
  readonly version: string
  /** Generation of the session epoch: what ends the sessions of the user ends this too. */
  readonly generation: number
}

export type KnownHeaders = ReturnType<typeof createKnownHeaders>

/**
 * Headers with a password that was verified before. Clients with Basic send the password with every request: a header
 * that is known is not decoded, and nothing is awaited. A request takes 18 instead of 21 µs (`npm run bench --
 * gateway-handler`).
 *
 * Keeps keyed digests, never a header; each process creates its own key, which never leaves it.
 */
export function createKnownHeaders(deps: KnownHeadersDeps) {
  const { directory, limits, counts } = deps
  const key = randomBytes(32).toString('base64')
  const headers = createLiveCache<KnownHeader>(deps.size)
  // a client without the key cannot choose a digest, so the time of a look-up shows nothing about others
  const digestOf = (header: string) => hash('sha256', key + header, 'base64')
  return {
    /**
     * The account of a known header, if signing in would have nothing to wait for. `undefined`: the whole sign-in
     * (sign-in.ts) has to decide; nothing was counted or recorded.
     */
    find(header: string, peers: Peers): Account | undefined {
      const known = headers.get(digestOf(header))
      const account = known && directory.peekAccount(known.name)
      if (!account || !isCurrent(known, account) || !isPasswordEnough(account, deps)) return undefined
      const guess = toGuess({ ...peers, name: account.name }, account)
      if (!limits.isAllowed(guess)) return undefined
      counts.hits += 1
      limits.countSuccess(guess)
      deps.noteSignIn(account.name, peers.peer)
      return account
    },
    /** Call only after the password in the header verified for this account, and was enough to sign in. */
    remember: (
      header: string,
      { name, version, sessionEpoch: { generation } }: KnownVersion & Pick<Account, 'name'>,
    ): void => headers.set(digestOf(header), { name, version, generation }),
  }
}

const isCurrent = (known: KnownHeader, { version, sessionEpoch }: Account): boolean =>
  version === known.version && sessionEpoch.generation === known.generation

/** Whether a right password is sufficient: no second factor, no upgrade of the hash, iterations within the limits. */
const isPasswordEnough = (account: Account, { directory, iterationLimits }: KnownHeadersDeps): boolean =>
  !needsSecondStep(account) &&
  !directory.isUpgradeDue(account) &&
  (account.isAdmin || checkIterations(account.password, iterationLimits()) === undefined)
