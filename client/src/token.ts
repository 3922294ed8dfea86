// The token of the multi-model door, in the `Authorization` header: for pages of other sites and for mobile apps.
import { type Credential, JSON_HEADERS, type LiveSession } from './credential.ts'
import type { TokenStorage } from './platform.ts'
import { type Session, toError } from './results.ts'

/** A request waits for a renewal if the token is valid for less than this. */
const DUE_MS = 60_000

interface StoredToken extends LiveSession {
  readonly token: string
}

export function createTokenCredential(
  base: string,
  { fetch, storage }: { readonly fetch: typeof globalThis.fetch; readonly storage: TokenStorage },
): Credential {
  const endpoint = `${base}_open/auth`
  const key = `cardea ${base}`
  // read again for each request: another tab may have renewed it
  const find = (): StoredToken | null => JSON.parse(storage.getItem(key) ?? 'null')
  const keep = (stored: StoredToken): LiveSession => {
    storage.setItem(key, JSON.stringify(stored))
    return toLiveSession(stored)
  }
  const send: Credential['send'] = (input, init = {}) => {
    const headers = new Headers(init.headers ?? (input instanceof Request ? input.headers : undefined))
    const stored = find()
    if (stored) headers.set('Authorization', `Bearer ${stored.token}`)
    return fetch(input, { ...init, headers, credentials: 'omit' })
  }
  return {
    send,
    // without the token of an earlier session
    signIn: ({ name, password, code }) =>
      fetch(endpoint, {
        method: 'POST',
        headers: JSON_HEADERS,
        body: JSON.stringify({ username: name, password, ...(code && { token: code }) }),
      }),
    async accept(response) {
      const { jwt } = (await response.json()) as { readonly jwt: string }
      const headers = { ...JSON_HEADERS, Authorization: `Bearer ${jwt}` }
      const account = await fetch(`${base}_cardea/account`, { headers })
      if (!account.ok) throw await toError(account)
      const { name, roles, mustChangePassword } = (await account.json()) as ShownAccount
      const session = { name, roles, ...(mustChangePassword && ({ mustChangePassword } as const)) }
      return keep({ token: jwt, session, expiresAt: findExpiry(jwt) })
    },
    async renew() {
      const stored = find()
      if (!stored) return null
      const response = await send(`${endpoint}/renew`, { method: 'POST', headers: JSON_HEADERS })
      // 404: the endpoint is open, and a token that is no longer valid has no user there
      if (response.status === 401 || response.status === 404) {
        storage.removeItem(key)
        return null
      }
      if (!response.ok) throw await toError(response)
      const { jwt } = (await response.json()) as { readonly jwt?: string }
      // the server renews a token shortly before it expires
      if (jwt === undefined) return toLiveSession(stored)
      return keep({ ...stored, token: jwt, expiresAt: findExpiry(jwt) })
    },
    endsWithPassword: true,
    isDue: (expiresAt) => expiresAt - Date.now() < DUE_MS,
    async signOut() {
      const response = await send(endpoint, { method: 'DELETE', headers: JSON_HEADERS })
      storage.removeItem(key)
      if (!response.ok && response.status !== 401) throw await toError(response)
    },
  }
}

interface ShownAccount extends Omit<Session, 'mustChangePassword'> {
  readonly mustChangePassword: boolean
}

const toLiveSession = ({ session, expiresAt }: StoredToken): LiveSession => ({ session, expiresAt })

/** By the clock of this machine, which may differ from that of the server. */
function findExpiry(jwt: string): number {
  const [, claims = ''] = jwt.split('.')
  const { iat, exp } = JSON.parse(atob(claims.replaceAll('-', '+').replaceAll('_', '/')))
  return Date.now() + (exp - iat) * 1000
}
