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
  readonly providers: readonly Provider[]
  /** The URL at which providers send browsers back; empty: not configured. */
  readonly publicUrl: string
  /** The name of this installation; empty: it has none. */
  readonly instanceName: string
}

export const PATH = '/_cardea/sign-in'

export const options: Options = JSON.parse(
  decodeURIComponent(document.querySelector<HTMLMetaElement>('meta[name=cardea-options]')?.content ?? '%7B%7D'),
)

export class RefusedRequest extends Error {
  readonly code: string

  constructor(code: string, reason: string) {
    super(reason)
    this.code = code
  }
}

/** Throws a `RefusedRequest` that says why. */
export async function post<T>(path: string, body: object): Promise<T> {
  const response = await fetch(`${PATH}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }).catch(() => {
    throw new RefusedRequest('unreachable', texts.unreachable)
  })
  const reply = await response.json().catch(() => ({}))
  if (!response.ok) throw new RefusedRequest(reply.error ?? '', reply.reason ?? response.statusText)
  return reply
}
