// The session cookie of the document door. Browsers keep it out of the reach of scripts, and every request renews it.
import { type Credential, JSON_HEADERS, type LiveSession } from './credential.ts'
import { type Session, toError } from './results.ts'

/** How long the cookie is valid after a request, if the server does not say so: CouchDB's default. */
const DEFAULT_TIMEOUT_SECONDS = 600

const COOKIE = /^(?:__Host-)?AuthSession=([^;]*)/

export function createCookieCredential(base: string, fetch: typeof globalThis.fetch): Credential {
  const endpoint = `${base}_session`
  /** Outside a browser nothing else keeps cookies. In a browser no script sees one, and this stays empty. */
  let cookie = ''
  const send: Credential['send'] = async (input, init = {}) => {
    const headers = new Headers(init.headers ?? (input instanceof Request ? input.headers : undefined))
    if (cookie) headers.set('Cookie', cookie)
    const response = await fetch(input, { ...init, headers, credentials: 'include' })
    for (const line of response.headers.getSetCookie?.() ?? []) {
      const [pair, value] = COOKIE.exec(line) ?? []
      if (pair !== undefined) cookie = value ? pair : ''
    }
    return response
  }
  return {
    send,
    signIn: ({ name, password, code }) =>
      send(endpoint, {
        method: 'POST',
        headers: JSON_HEADERS,
        body: JSON.stringify({ name, password, ...(code && { token: code }) }),
      }),
    accept: async (response) => toLiveSession((await response.json()) as Session, response),
    async renew() {
      const response = await send(endpoint, { headers: JSON_HEADERS })
      // a server that requires a credential on every path
      if (response.status === 401) return null
      if (!response.ok) throw await toError(response)
      const { userCtx } = (await response.json()) as { readonly userCtx: Session | Anonymous }
      return userCtx.name === null ? null : toLiveSession(userCtx, response)
    },
    // every request renews the cookie
    isDue: () => false,
    async signOut() {
      const response = await send(endpoint, { method: 'DELETE', headers: JSON_HEADERS })
      if (!response.ok && response.status !== 401) throw await toError(response)
    },
  }
}

interface Anonymous {
  readonly name: null
}

function toLiveSession({ name, roles }: Session, { headers }: Response): LiveSession {
  const slidingMs = (Number(headers.get('X-Cardea-Session-Timeout')) || DEFAULT_TIMEOUT_SECONDS) * 1000
  const mustChange = headers.has('X-Cardea-Password-Change')
  return {
    session: { name, roles, ...(mustChange && { mustChangePassword: true }) },
    expiresAt: Date.now() + slidingMs,
    slidingMs,
  }
}
