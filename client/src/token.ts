// A short token in the `Authorization` header, and the renewal token that replaces it: for pages of other sites and for
// mobile apps.
import { type Credential, JSON_HEADERS, type LiveSession } from './credential.ts'
import type { TokenStorage } from './platform.ts'
import { readJson, readSession, toDoorError, toError, toNotADoor } from './results.ts'

/** A token is renewed after this part of its lifetime, so that several attempts fit in. */
const DUE_AFTER = 0.4

interface StoredToken extends LiveSession {
  readonly token: string
  readonly renewalToken: string
  readonly endsAt: number
  /** In milliseconds. */
  readonly dueAt: number
}

export function createTokenCredential(
  base: string,
  { fetch, storage }: { readonly fetch: typeof globalThis.fetch; readonly storage: TokenStorage },
): Credential {
  const account = `${base}_cardea/account`
  const key = `cardea ${base}`
  // read again for each request: another tab may have renewed it
  const find = (): StoredToken | null => readStored(storage.getItem(key))
  const isPast = (time: 'dueAt' | 'expiresAt') => Date.now() >= (find()?.[time] ?? Number.POSITIVE_INFINITY)
  const isDue = () => isPast('dueAt')
  const keep = (stored: StoredToken): LiveSession => {
    storage.setItem(key, JSON.stringify(stored))
    return toLive(stored)
  }
  /** Unless another tab has renewed it meanwhile, or the user has signed in or out. */
  const replace = (stored: StoredToken, next: StoredToken | null): LiveSession | null => {
    const now = find()
    if (now?.renewalToken !== stored.renewalToken) return now && toLive(now)
    if (next) return keep(next)
    storage.removeItem(key)
    return null
  }
  const call = (method: string, path: string, body: object): Promise<Response> =>
    fetch(account + path, { method, headers: JSON_HEADERS, body: JSON.stringify(body), credentials: 'omit' })
  const send: Credential['send'] = (input, init = {}) => {
    const headers = new Headers(init.headers ?? (input instanceof Request ? input.headers : undefined))
    const stored = find()
    if (stored) headers.set('Authorization', `Bearer ${stored.token}`)
    return fetch(input, { ...init, headers, credentials: 'omit' })
  }
  return {
    send,
    // without the token of an earlier session
    signIn: ({ name, password, code }) => call('POST', '/token', { name, password, ...(code && { code }) }),
    accept: async (response) => keep(await toStored(response, base)),
    async renew() {
      const stored = find()
      if (!stored) return null
      // a renewal whose response is lost may end the session, so there is none without need
      const checked = isDue() ? undefined : await send(account, { headers: JSON_HEADERS })
      if (checked?.ok)
        return replace(stored, { ...stored, session: readSession(await readJson(checked), checked, base) })
      if (checked && checked.status !== 401) throw toDoorError(await toError(checked), base)
      const response = await call('POST', '/token/renew', { renewalToken: stored.renewalToken })
      if (response.ok) return replace(stored, await toStored(response, base))
      if (response.status !== 401) throw toDoorError(await toError(response), base)
      return replace(stored, null)
    },
    endsWithPassword: true,
    isDue,
    hasExpired: () => isPast('expiresAt'),
    async signOut() {
      const stored = find()
      if (!stored) return
      const response = await call('DELETE', '/token', { renewalToken: stored.renewalToken })
      replace(stored, null)
      if (!response.ok && response.status !== 401) throw await toError(response)
    },
  }
}

/** An entry that is not JSON counts as none. */
function readStored(text: unknown): StoredToken | null {
  if (typeof text === 'object' && text !== null)
    throw new TypeError('storage must answer at once: its getItem returned an object, perhaps a promise.')
  try {
    return JSON.parse(String(text))
  } catch {
    return null
  }
}

const toLive = ({ session, expiresAt, endsAt }: StoredToken): LiveSession => ({ session, expiresAt, endsAt })

/** By the clock of this machine, which may differ from that of the server. */
async function toStored(response: Response, base: string): Promise<StoredToken> {
  const now = Date.now()
  const shown = Object(await readJson(response))
  const { token, renewalToken, expiresIn, renewalExpiresIn } = shown
  const areTexts = typeof token === 'string' && typeof renewalToken === 'string'
  if (!areTexts || !(expiresIn > 0 && renewalExpiresIn > 0)) throw toNotADoor(base, response.status)
  const expiresAt = now + expiresIn * 1000
  const [dueAt, endsAt] = [now + DUE_AFTER * expiresIn * 1000, now + renewalExpiresIn * 1000]
  return { token, renewalToken, expiresAt, dueAt, endsAt, session: readSession(shown, response, base) }
}
