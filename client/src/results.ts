// What the calls of a client return and throw.

/** Who is signed in. */
export interface Session {
  readonly name: string
  readonly roles: readonly string[]
  /** Never changes, and no later user of the name has it. Left out for a name that Cardea only passes on. */
  readonly id?: string
  /** The user must choose a new password before anything else. */
  readonly mustChangePassword?: true
  /** The user must set up a second factor before anything else. */
  readonly mustSetUpSecondFactor?: true
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

/** `rejected`: it is no address, or the server sends no messages. */
export type RequestResult =
  | (Refused<'requested'> | Refused<'wrong_password'> | Refused<'name_taken'>)
  | (Rejected | Locked)
/** `invalid_link`: it was used, has expired, or a newer one was sent. `rejected`: the password, or the name or address is taken. */
export type ConfirmResult = Refused<'confirmed'> | Refused<'invalid_link'> | Rejected | Locked

/**
 * `cancelled`: the user, the signal or a later call has ended it, or the browser has no passkey for this page: it does not
 * say which. `unavailable`: this page or browser cannot use passkeys, or not in the list of the name field.
 * `already_added`: the authenticator has a passkey of this account.
 */
export type PasskeyEnd = Refused<'cancelled'> | Refused<'unavailable'> | Refused<'already_added'>

/** `wrong_password`: the passkey was not accepted either, for example because it was removed. */
export type PasskeySignInResult = SignInResult | PasskeyEnd

/** `recoveryCodes`: shown once, if the passkey is the second factor that a role of the user needs. */
export interface PasskeyAdded extends Refused<'added'> {
  readonly recoveryCodes?: readonly string[]
}

export type AddPasskeyResult = PasskeyAdded | Rejected | PasskeyEnd

/** A response that no result describes; or the user has ended a proof with a passkey: the code says how. */
export class ClientError extends Error {
  override readonly name = 'ClientError'
  /** Status of the response; 0: there was none. */
  readonly status: number
  /** The name of the error in the body. `not_a_door`: the server at `url` is another one than it should be. */
  readonly code: string

  constructor(status: number, code: string, reason: string) {
    super(reason)
    this.status = status
    this.code = code
  }
}

/** The body of a response; throws for an error. */
export async function read<T>(response: Response): Promise<T> {
  if (response.ok) return (await response.json()) as T
  throw await toError(response)
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

/** An error, or that of a server that cannot be the door: it is another one, the other door, or a path of a door. */
export function toDoorError(error: ClientError, base: string): ClientError {
  const { status, code } = error
  const isMultiModel = /^\d+$/.test(code)
  const isOther = [404, 405].includes(status) || (status < 500 && code === 'unknown')
  return isMultiModel || isOther ? toNotADoor(base, status, isMultiModel) : error
}

export function toNotADoor(base: string, status: number, isMultiModel = false): ClientError {
  const { origin, pathname } = new URL(base)
  const other = pathname === '/' ? 'the URL of a door of Cardea' : `the URL of a door, without a path: ${origin}/`
  const instead = isMultiModel
    ? "it is a multi-model door. Give the URL of the document door; with credential: 'token' all but sign-up works here"
    : `it answered with ${status} what no door does. Give ${other}`
  return new ClientError(status, 'not_a_door', `${base} is not the door for this call: ${instead}.`)
}

/** Why a sign-in was refused. */
export async function toRefused(response: Response, base: string): Promise<SignInResult> {
  const lock = findLock(response)
  if (lock) return lock
  const { status, headers } = response
  if (status === 401 && headers.has('X-Cardea-Second-Factor')) return { status: 'code_required' }
  const error = await toError(response)
  // CouchDB has no code of its own for it
  const isWrong = error.code === 'credential_refused' || error.message === 'Name or password is incorrect.'
  if (status === 401 && isWrong) return { status: 'wrong_password' }
  throw status === 401 ? toNotADoor(base, status, /^\d+$/.test(error.code)) : toDoorError(error, base)
}

/** The session that a door has shown, in the body or, beside that of CouchDB, in headers. */
export function readSession(shown: unknown, { headers, status }: Response, base: string): Session {
  const { name, roles, mustChangePassword, mustSetUpFactor, id = headers.get('X-Cardea-User-Id') } = Object(shown)
  if (typeof name !== 'string' || !name || !Array.isArray(roles)) throw toNotADoor(base, status)
  const mustChange = mustChangePassword || headers.has('X-Cardea-Password-Change')
  const mustSetUp = mustSetUpFactor || headers.get('X-Cardea-Second-Factor') === 'set-up'
  return {
    name,
    roles,
    ...(id && { id }),
    ...(mustChange && { mustChangePassword: true }),
    ...(mustSetUp && { mustSetUpSecondFactor: true }),
  }
}

/** The body of a response; `undefined`: it is not JSON. */
export const readJson = (response: Response): Promise<unknown> => response.json().catch(() => undefined)

/** A lock of the name is 403, the limits of the account and of the address are 429; each says how long. */
export function findLock({ status, headers }: Response): Locked | undefined {
  const seconds = Number(headers.get('Retry-After'))
  return (status === 403 || status === 429) && seconds > 0 ? { status: 'locked', retryAfter: seconds } : undefined
}
