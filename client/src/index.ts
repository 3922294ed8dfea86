/**
 * A client for applications: signs users up, in and out, keeps their session alive, and gives PouchDB a `fetch` that
 * survives the end of a session. It has no dependencies, and runs in browsers, workers and Node.
 */
import { createAccountCalls } from './account.ts'
import { createAccountRequests } from './account-requests.ts'
import { createAuthenticator } from './authenticator.ts'
import type { Client } from './client.ts'
import { createCookieCredential } from './cookie.ts'
import type { GivenCredentials } from './credential.ts'
import { createSessionFetch } from './fetch.ts'
import { createPasskeyCalls } from './passkeys.ts'
import { createMemoryStorage, findLocalStorage, type TokenStorage, toBase } from './platform.ts'
import { createProviderCalls } from './providers.ts'
import { type SignInResult, toRefused } from './results.ts'
import { SessionKeeper } from './session-keeper.ts'
import { createTokenCredential } from './token.ts'

export type {
  AccountExport,
  Client,
  ListedPasskey,
  ListedProvider,
  ListedSession,
  OtherMembers,
  PasskeySignIn,
  PasswordProof,
} from './client.ts'
export type { SignIn } from './credential.ts'
export type { TokenStorage } from './platform.ts'
export {
  type AddPasskeyResult,
  type ChangePasswordResult,
  ClientError,
  type ConfirmResult,
  type Locked,
  type PasskeyAdded,
  type PasskeyEnd,
  type PasskeySignInResult,
  type Refused,
  type Rejected,
  type RequestResult,
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
  /**
   * Where tokens are kept, and who was signed in last. Left out: tokens are in memory until the page is closed; who was
   * signed in with the cookie is in `localStorage` where the platform has one.
   */
  readonly storage?: TokenStorage
  /**
   * What requests do when the session has expired or was revoked: `wait` until the same user signs in again (the
   * default), or end with 401 (`reject`).
   */
  readonly onLost?: 'wait' | 'reject'
  /** The `fetch` that sends the requests. Left out: that of the platform. */
  readonly fetch?: typeof globalThis.fetch
}

const OPTIONS = ['url', 'credential', 'account', 'storage', 'onLost', 'fetch']

const METHODS = ['getItem', 'setItem', 'removeItem'] as const

/** For programs without types. */
function checkOptions(options: ClientOptions | undefined): void {
  if (!options?.url) throw new TypeError('createClient needs an object with url, the URL of a door.')
  const unknown = Object.keys(options).find((name) => !OPTIONS.includes(name))
  if (unknown !== undefined) throw new TypeError(`createClient has no option ${unknown}.`)
  const { credential = 'cookie', onLost = 'wait', storage } = options
  // no message shows a value: it may be a password in the wrong place
  if (!['cookie', 'token'].includes(credential)) throw new TypeError('credential must be cookie or token.')
  if (!['wait', 'reject'].includes(onLost)) throw new TypeError('onLost must be wait or reject.')
  const isStorage = METHODS.every((name) => typeof storage?.[name] === 'function')
  if (storage && !isStorage) throw new TypeError(`storage must have the methods ${METHODS.join(', ')}.`)
}

export function createClient(options: ClientOptions): Client {
  checkOptions(options)
  const { fetch = globalThis.fetch.bind(globalThis) } = options
  const base = toBase(options.url)
  const hasToken = options.credential === 'token'
  const local = findLocalStorage()
  const storage = options.storage ?? (hasToken ? undefined : local) ?? createMemoryStorage()
  if (hasToken && options.account !== undefined)
    throw new TypeError('The option account needs cookies: leave it out, or do not set credential to token.')
  const account = options.account === undefined ? undefined : toBase(new URL(options.account, base).href)
  const credential = hasToken
    ? createTokenCredential(base, { fetch, storage })
    : createCookieCredential(base, { fetch, account, storage })
  const keeper = new SessionKeeper(base, credential, !hasToken || storage === local)
  const sessionFetch = createSessionFetch({ base, credential, keeper, fetch, waits: options.onLost !== 'reject' })
  const authenticator = createAuthenticator()
  const requests = createAccountRequests({ base, account, credential, keeper, authenticator })
  const open = (given: GivenCredentials): Promise<SignInResult> =>
    keeper.change(async () => {
      const response = await credential.signIn(given)
      if (!response.ok) return toRefused(response, base)
      const live = await credential.accept(response)
      keeper.signedIn(live)
      return { status: 'signed_in', session: live.session }
    })
  return {
    url: base,
    async signIn(given) {
      if (typeof given?.password !== 'string')
        throw new TypeError('signIn takes an object: signIn({ name, password }).')
      return open(given)
    },
    session: async ({ cached = false } = {}) =>
      cached ? keeper.findCached() : ((await keeper.renew())?.session ?? null),
    async token() {
      if (!credential.findToken) throw new TypeError("token() needs the option credential: 'token'.")
      keeper.requireOpen()
      await keeper.renewIfDue()
      return credential.findToken()
    },
    ...createProviderCalls(base, credential, keeper),
    ...createAccountCalls(requests, { base, account, credential, keeper }),
    ...createPasskeyCalls(requests, { authenticator, keeper, open }),
    onChange: (listener) => keeper.onChange(listener),
    fetch: sessionFetch,
    close() {
      authenticator.stop()
      keeper.close()
    },
  }
}
