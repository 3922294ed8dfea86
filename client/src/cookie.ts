// The session cookie of the document door. Browsers keep it out of the reach of scripts, and every request renews it.
import { type Credential, type LiveSession, toJson } from './credential.ts'
import { createItem, type TokenStorage } from './platform.ts'
import { readJson, readSession, type Session, toDoorError, toError } from './results.ts'

/** How long the cookie is valid after a request, if the server does not say so: CouchDB's default. */
const DEFAULT_TIMEOUT_SECONDS = 600

const COOKIE = /^(?:__Host-)?AuthSession=([^;]*)/

interface CookieOptions {
  readonly fetch: typeof globalThis.fetch
  /** Where a program has the routes of the library; without it, those of the document door are used. */
  readonly account: string | undefined
  readonly storage: TokenStorage
}

export function createCookieCredential(base: string, { fetch, account, storage }: CookieOptions): Credential {
  const cached = createItem<Session>(storage, `cardea session ${base}`)
  const door = `${base}_session`
  const [signIn, session, signOut] = account
    ? [`${account}sign-in`, `${account}session`, `${account}sign-out`]
    : [door, door, door]
  /** Outside a browser nothing else keeps cookies. In a browser no script sees one, and this stays empty. */
  let cookie = ''
  const send: Credential['send'] = async (input, init = {}) => {
    const headers = new Headers(init.headers ?? (input instanceof Request ? input.headers : undefined))
    const own = headers.get('Cookie')
    if (cookie) headers.set('Cookie', own ? `${own}; ${cookie}` : cookie)
    const response = await fetch(input, { ...init, headers, credentials: 'include' })
    for (const line of response.headers.getSetCookie?.() ?? []) {
      const [pair, value] = COOKIE.exec(line) ?? []
      if (pair !== undefined) cookie = value ? pair : ''
    }
    return response
  }
  const toLiveSession = (shown: unknown, response: Response): LiveSession => {
    const session = readSession(shown, response, base)
    const timeoutSeconds = Number(response.headers.get('X-Cardea-Session-Timeout')) || DEFAULT_TIMEOUT_SECONDS
    const slidingMs = timeoutSeconds * 1000
    return { session, expiresAt: Date.now() + slidingMs, slidingMs }
  }
  return {
    send,
    signIn: ({ name, password, code, passkey }) =>
      passkey
        ? send(`${account ?? `${base}_cardea/account/`}sign-in`, toJson('POST', { name, password, passkey }))
        : send(signIn, toJson('POST', { name, password, ...(code && { [account ? 'code' : 'token']: code }) })),
    accept: async (response) => toLiveSession(await readJson(response), response),
    async renew() {
      const response = await send(session, toJson('GET'))
      if (!response.ok) {
        const error = toDoorError(await toError(response), base)
        // a server that requires a credential on every path
        if (error.status === 401 && error.code !== 'not_a_door') return null
        throw error
      }
      const shown = Object(await readJson(response))
      const who = shown.userCtx ?? shown
      return who.name === null ? null : toLiveSession(who, response)
    },
    // every request renews the cookie
    isDue: () => false,
    hasExpired: () => false,
    findCached: cached.find,
    // without it only a start without the network fails
    keepCached: (session) => void cached.set(session).catch(() => {}),
    async signOut() {
      const response = await send(signOut, account ? toJson('POST', {}) : toJson('DELETE'))
      if (!response.ok && response.status !== 401) throw await toError(response)
    },
  }
}
