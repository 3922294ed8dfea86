// A short token in the `Authorization` header, and the renewal token that replaces it: for pages of other sites and for
// mobile apps.
import { type Credential, type LiveSession, toJson } from './credential.ts'
import { createItem, type TokenStorage } from './platform.ts'
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
  // read again for each request: another tab may have renewed it
  const { find, set } = createItem<StoredToken>(storage, `cardea ${base}`)
  const isPast = async (time: 'dueAt' | 'expiresAt') =>
    Date.now() >= ((await find())?.[time] ?? Number.POSITIVE_INFINITY)
  const isDue = () => isPast('dueAt')
  const keep = async (stored: StoredToken): Promise<LiveSession> => {
    await set(stored)
    return toLive(stored)
  }
  /** Unless another tab has renewed it meanwhile, or the user has signed in or out. */
  const replace = async (stored: StoredToken, next: StoredToken | null): Promise<LiveSession | null> => {
    const now = await find()
    if (now?.renewalToken !== stored.renewalToken) return now && toLive(now)
    if (next) return keep(next)
    await set(null)
    return null
  }
  const call = (method: string, path: string, body: object): Promise<Response> =>
    fetch(account + path, { ...toJson(method, body), credentials: 'omit' })
  const send: Credential['send'] = async (input, init = {}) => {
    const headers = new Headers(init.headers ?? (input instanceof Request ? input.headers : undefined))
    const stored = await find()
    if (stored) headers.set('Authorization', `Bearer ${stored.token}`)
    return fetch(input, { ...init, headers, credentials: 'omit' })
  }
  return {
    send,
    // without the token of an earlier session
    signIn: ({ name, password, code, passkey }) =>
      call('POST', '/token', { name, password, passkey, ...(code && { code }) }),
    accept: async (response) => keep(await toStored(response, base)),
    async renew() {
      const stored = await find()
      if (!stored) return null
      // a renewal whose response is lost may end the session, so there is none without need
      const checked = (await isDue()) ? undefined : await send(account, toJson('GET'))
      if (checked?.ok)
        return replace(stored, { ...stored, session: readSession(await readJson(checked), checked, base) })
      if (checked && checked.status !== 401) throw toDoorError(await toError(checked), base)
      const response = await call('POST', '/token/renew', { renewalToken: stored.renewalToken })
      if (response.ok) return replace(stored, await toStored(response, base))
      if (response.status !== 401) throw toDoorError(await toError(response), base)
      return replace(stored, null)
    },
    findCached: async () => (await find())?.session ?? null,
    findToken: async () => (await find())?.token ?? null,
    endsWithPassword: true,
    isDue,
    hasExpired: () => isPast('expiresAt'),
    async signOut() {
      const stored = await find()
      if (!stored) return
      const response = await call('DELETE', '/token', { renewalToken: stored.renewalToken })
      await replace(stored, null)
      if (!response.ok && response.status !== 401) throw await toError(response)
    },
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
