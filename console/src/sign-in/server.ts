// The endpoints of the sign-in page, and what the server says with the page.
import { texts } from './texts.ts'

export interface Provider {
  readonly name: string
  readonly label: string
}

export interface Options {
  /** Who is signed in. */
  readonly name: string | null
  readonly mustChangePassword: boolean
  readonly mustSetUpFactor: boolean
  /** Whether the user can link an account at a provider: the session has proved the password. */
  readonly canLink: boolean
  /** The path to go to afterwards. */
  readonly next?: string
  /** The address of the page asks for one that is not of this server, or is too long. */
  readonly isNextWrong?: boolean
  /** Whether this door makes a token for the session. */
  readonly hasToken: boolean
  readonly signUp: boolean
  /** Whether the server sends links to choose a new password. */
  readonly passwordReset?: boolean
  /** Whether a verified address signs in. */
  readonly addressSignIn?: boolean
  /** Whether it sends links to create an account. */
  readonly mailSignUp?: boolean
  /** At which browsers can sign in. A server may be built without them. */
  readonly providers: readonly Provider[]
  /** The URL at which providers send browsers back; empty: not configured. */
  readonly publicUrl: string
  /** The name of this installation; empty: it has none. */
  readonly instanceName: string
}

export const PATH = '/_cardea/sign-in'
export const API = '/_cardea/api'

const given = document.querySelector<HTMLMetaElement>('meta[name=cardea-options]')?.content ?? '%7B%7D'

export const options: Options = { providers: [], ...JSON.parse(decodeURIComponent(given)) }

export class RefusedRequest extends Error {
  readonly code: string

  constructor(code: string, reason: string) {
    super(reason)
    this.code = code
  }
}

/** Throws a `RefusedRequest` that says why. `base`: where the path begins. */
export async function post<T>(path: string, body: object, base = PATH): Promise<T> {
  const response = await fetch(`${base}${path}`, {
    method: 'POST',
    // requests of this page need a session only at its own paths
    credentials: base === PATH ? 'same-origin' : 'omit',
    headers: { 'content-type': 'application/json', 'x-cardea-control': '1' },
    body: JSON.stringify(body),
  }).catch(() => {
    throw new RefusedRequest('unreachable', texts.unreachable)
  })
  const reply = await response.json().catch(() => ({}))
  if (!response.ok) throw new RefusedRequest(reply.error ?? '', reply.reason ?? response.statusText)
  return reply
}
