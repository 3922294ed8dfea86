// What browsers do with passkeys. A browser waits for one authenticator at a time.
import { findPasskeys } from './platform.ts'
import { ClientError } from './results.ts'

type Ask = () => Promise<object>

export interface PasskeyChoice {
  /** In the list of the name field, which needs `autocomplete="username webauthn"`, until the user picks one there. */
  readonly conditional?: boolean | undefined
  /** Ends it. */
  readonly signal?: AbortSignal | undefined
}

/** Shorter than a challenge of the server is valid. */
const RENEWED_MS = 240_000

/** Each call ends the one before, which is how a button takes over from the list of the name field. */
export function createAuthenticator() {
  let waiting = new AbortController()
  const stop = () => waiting.abort()
  const begin = (signal?: AbortSignal): AbortSignal => {
    stop()
    waiting = new AbortController()
    return signal ? AbortSignal.any([waiting.signal, signal]) : waiting.signal
  }
  return {
    stop,
    /** What a passkey has signed, as JSON. `ask` gets the options of the server. */
    async sign(ask: Ask, { conditional, signal }: PasskeyChoice = {}): Promise<object> {
      const passkeys = requirePasskeys()
      const end = begin(signal)
      if (conditional && !(await passkeys.areListed()))
        throw new ClientError(0, 'unavailable', 'There is no such list.')
      const use = async (more: object) => passkeys.get(await ask(), more)
      if (!conditional) return orCancelled(end, use({ signal: end }))
      for (;;) {
        const renewal = AbortSignal.timeout(RENEWED_MS)
        const picked = use({ mediation: 'conditional', signal: AbortSignal.any([end, renewal]) }).catch((error) => {
          if (end.aborted || !renewal.aborted) throw error
        })
        const passkey = await orCancelled(end, picked)
        // otherwise with a new challenge, because that one is about to expire
        if (passkey) return passkey
      }
    },
    async create(ask: Ask): Promise<object> {
      const passkeys = requirePasskeys()
      const options = await ask()
      const signal = begin()
      return orCancelled(signal, passkeys.create(options, { signal }))
    },
  }
}

export type Authenticator = ReturnType<typeof createAuthenticator>

function requirePasskeys() {
  const passkeys = findPasskeys()
  if (passkeys) return passkeys
  throw new ClientError(
    0,
    'unavailable',
    'This page has no passkeys: they need a current browser, HTTPS and a host name.',
  )
}

/** The browser does not say whether the user has cancelled, or has no passkey for this page. */
const orCancelled = <T>(end: AbortSignal, work: Promise<T>): Promise<T> =>
  work.catch((error) => {
    if (end.aborted || error.name === 'NotAllowedError') throw new ClientError(0, 'cancelled', 'No passkey was chosen.')
    // by its name: the authenticator has one of this account
    if (error.name === 'InvalidStateError')
      throw new ClientError(0, 'already_added', 'It has a passkey of this account.')
    throw error
  })
