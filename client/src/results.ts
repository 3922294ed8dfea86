// What the calls of a client return and throw.

/** Who is signed in. */
export interface Session {
  readonly name: string
  readonly roles: readonly string[]
  /** The user must choose a new password before anything else. */
  readonly mustChangePassword?: true
}

/** Too many attempts. `retryAfter`: seconds. */
export interface Locked {
  readonly status: 'locked'
  readonly retryAfter: number
}

export interface SignedIn {
  readonly status: 'signed_in'
  readonly session: Session
}

export interface Refused<Status extends string> {
  readonly status: Status
}

/** The server does not accept the new name or password, for this reason. */
export interface Rejected {
  readonly status: 'rejected'
  readonly reason: string
}

/** `wrong_password`: the name, the password or the code is wrong. `code_required`: ask for the code, and sign in again. */
export type SignInResult = SignedIn | Locked | Refused<'code_required'> | Refused<'wrong_password'>
export type SignUpResult = Refused<'signed_up'> | Refused<'name_taken'> | Rejected | Locked
export type ChangePasswordResult = Refused<'changed'> | Refused<'wrong_password'> | Rejected | Locked

/** A response that no result describes. */
export class ClientError extends Error {
  override readonly name = 'ClientError'
  /** Of the response. */
  readonly status: number
  /** The name of the error in the body. */
  readonly code: string

  constructor(status: number, code: string, reason: string) {
    super(reason)
    this.status = status
    this.code = code
  }
}

export async function toError(response: Response): Promise<ClientError> {
  const text = await response.text()
  try {
    const { error, errorNum, reason, errorMessage } = JSON.parse(text)
    return new ClientError(response.status, String(errorNum ?? error), String(reason ?? errorMessage))
  } catch {
    return new ClientError(response.status, 'unknown', `The server responded with ${response.status}.`)
  }
}

/** A lock of the name is 403, the limits of the account and of the address are 429; each says how long. */
export function findLock({ status, headers }: Response): Locked | undefined {
  const seconds = Number(headers.get('Retry-After'))
  return (status === 403 || status === 429) && seconds > 0 ? { status: 'locked', retryAfter: seconds } : undefined
}
