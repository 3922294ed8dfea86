// Passwords in a worker thread, which hashes none: it accepts those that the main thread has accepted.
import { relay } from '../base/relay-needed.ts'
import type { Account } from '../directory/account.ts'
import type { Directory } from '../directory/directory.ts'
import { createPasswordMemory } from '../passwords/password-memory.ts'
import { MULTI_MODEL_BASIC, readBasic } from './basic.ts'
import { createKnownHeaders, type KnownHeader, type KnownHeaders, type Peers } from './known-headers.ts'
import { type Attempt, createSignIn, type SignInDeps, toRemembered } from './sign-in.ts'

export interface RelayedPasswordsDeps
  extends Pick<SignInDeps, 'limits' | 'iterationLimits' | 'hasher' | 'newPasswordWork'> {
  readonly directory: Pick<Directory, 'findAccount' | 'peekAccount' | 'isUpgradeDue' | 'storedWork' | 'noteSignIn'>
  /** How many passwords are remembered; 0: none. */
  size(): number
  /** Whether a password may have been hashed any time ago. */
  acceptsOld(): boolean
  /** How many password checks have failed in all threads. */
  countFailures(): number
}

/** How long a password that the main thread has accepted is not shown to it again: it notes who has proved one. */
const MAX_KNOWN_MS = 3_600_000

/** What the main thread has accepted counts until any password check fails: then limits may have changed. */
export function createRelayedPasswords(deps: RelayedPasswordsDeps) {
  const { directory, hasher, size } = deps
  const { noteSignIn } = directory
  const create = () => {
    const memory = createPasswordMemory(size)
    const known = createKnownHeaders({ ...deps, noteSignIn, counts: memory.counts })
    const signIn = createSignIn({
      ...deps,
      memory,
      findAccount: directory.findAccount,
      onPassword: async (account) => (directory.isUpgradeDue(account) ? relay() : account),
      hasher: { ...hasher, verify: relay, pad: relay },
      spendCode: relay,
      // the main thread decides
      isAccessToken: () => false,
      storedWork: directory.storedWork,
    })
    return { memory, known, signIn, failures: deps.countFailures(), atMs: performance.now() }
  }
  let latest = create()
  const current = () => {
    const isOld = performance.now() - latest.atMs > MAX_KNOWN_MS
    if (isOld || deps.countFailures() !== latest.failures) latest = create()
    return latest
  }
  return {
    recorded: async (attempt: Attempt): Promise<Account> => {
      const account = (await current().signIn(attempt)) ?? (await relay())
      noteSignIn(account.name, attempt.peer)
      return account
    },
    known: {
      find: (header: string, peers: Peers) => current().known.find(header, peers),
      remember: (...known: Parameters<KnownHeaders['remember']>) => current().known.remember(...known),
    },
    /** To be called before a request is relayed. What it returns is called if the main thread has accepted its password. */
    beforeRelay: () => {
      const asked = current()
      return (header: string, { name, version, generation }: KnownHeader): void => {
        // the laxer form reads every header that the other one accepts
        const given = readBasic(header, MULTI_MODEL_BASIC)
        // a check that failed meanwhile may have led to a limit
        if (asked !== current() || typeof given !== 'object' || given.name !== name) return
        const account = { version, sessionEpoch: { generation } }
        asked.known.remember(header, { name, ...account })
        // the main thread may have hashed it long ago
        if (deps.acceptsOld()) asked.memory.remember({ name, version: toRemembered(account), password: given.password })
      }
    },
  }
}
