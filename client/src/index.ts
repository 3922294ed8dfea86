/**
 * A client for applications: signs users up, in and out, keeps their session alive, and gives PouchDB a `fetch` that
 * survives the end of a session. It has no dependencies, and runs in browsers, workers and Node.
 */
import { createAccountCalls } from './account.ts'
import { createCookieCredential } from './cookie.ts'
import type { SignIn } from './credential.ts'
import { createSessionFetch } from './fetch.ts'
import { createMemoryStorage, isShared, type TokenStorage, toBase } from './platform.ts'
import { type Session, type SignInResult, toRefused } from './results.ts'
import { type ChangeListener, SessionKeeper } from './session-keeper.ts'
import { createTokenCredential } from './token.ts'

export type { SignIn } from './credential.ts'
export type { TokenStorage } from './platform.ts'
export {
  type ChangePasswordResult,
  ClientError,
  type Locked,
  type Refused,
  type Rejected,
  type Session,
  type SignedIn,
  type SignInResult,
  type SignUpResult,
} from './results.ts'
export type { Change, ChangeListener } from './session-keeper.ts'

export interface ClientOptions {
  /** The URL of a door, or its path on the origin of the page. */
  readonly url: string
  /**
   * How requests prove the session: with the cookie of the document door, which no script can read (the default), or
   * with tokens, which work at both doors, on pages of other sites and in mobile apps.
   */
  readonly credential?: 'cookie' | 'token'
  /**
   * Where a program has mounted the account routes of the library, as `/account`. They have no tokens, so this cannot be
   * given with `credential: 'token'`. Left out: the routes of the door.
   */
  readonly account?: string
  /** Where tokens are kept. Left out: in memory, until the page is closed. */
  readonly storage?: TokenStorage
  /**
   * What requests do when the session has expired or was revoked: `wait` until the same user signs in again (the
   * default), or end with 401 (`reject`).
   */
  readonly onLost?: 'wait' | 'reject'
  /** The `fetch` that sends the requests. Left out: that of the platform. */
  readonly fetch?: typeof globalThis.fetch
}

export type Client = ReturnType<typeof createClient>

const OPTIONS = ['url', 'credential', 'account', 'storage', 'onLost', 'fetch']

/** For programs without types. */
function checkOptions(options: ClientOptions | undefined): void {
  if (!options?.url) throw new TypeError('createClient needs an object with url, the URL of a door.')
  const unknown = Object.keys(options).find((name) => !OPTIONS.includes(name))
  if (unknown !== undefined) throw new TypeError(`createClient has no option ${unknown}.`)
  const { credential = 'cookie', onLost = 'wait' } = options
  if (!['cookie', 'token'].includes(credential))
    throw new TypeError(`credential must be cookie or token: ${credential}`)
  if (!['wait', 'reject'].includes(onLost)) throw new TypeError(`onLost must be wait or reject: ${onLost}`)
}

export function createClient(options: ClientOptions) {
  checkOptions(options)
  const { storage = createMemoryStorage(), fetch = globalThis.fetch.bind(globalThis) } = options
  const base = toBase(options.url)
  const hasToken = options.credential === 'token'
  if (hasToken && options.account !== undefined)
    throw new TypeError('The option account needs cookies: leave it out, or do not set credential to token.')
  const account = options.account === undefined ? undefined : toBase(new URL(options.account, base).href)
  const credential = hasToken
    ? createTokenCredential(base, { fetch, storage })
    : createCookieCredential(base, fetch, account)
  const keeper = new SessionKeeper(base, credential, !hasToken || isShared(storage))
  const sessionFetch = createSessionFetch({ base, credential, keeper, fetch, waits: options.onLost !== 'reject' })
  return {
    /** The URL of the door, with a slash at its end. */
    url: base,
    /** `code`: a one-time code or a recovery code, if the user has a second factor. */
    signIn: (given: SignIn): Promise<SignInResult> =>
      keeper.change(async () => {
        const response = await credential.signIn(given)
        if (!response.ok) return toRefused(response, base)
        const live = await credential.accept(response)
        keeper.signedIn(live)
        return { status: 'signed_in', session: live.session }
      }),
    /** Who is signed in, as the server says; `null`: nobody. */
    session: async (): Promise<Session | null> => (await keeper.renew())?.session ?? null,
    ...createAccountCalls({ base, account, credential, keeper }),
    /** Calls the listener whenever the session begins, is renewed or ends, in any tab. Returns a function that stops it. */
    onChange: (listener: ChangeListener): (() => void) => keeper.onChange(listener),
    /** Sends a request with the session. Made for the option `fetch` of PouchDB. */
    fetch: sessionFetch,
    /** Ends timers and what waits. The session itself stays. */
    close: (): void => keeper.close(),
  }
}
