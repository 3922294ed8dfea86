import type { Refusal } from '../base/errors.ts'
import {
  ADMIN_ROLE,
  type Authenticated,
  type AuthenticatedRequest,
  type Credential,
  type CredentialKind,
  type Identity,
  NO_GRANTS,
} from '../directory/identity.ts'
import { checkName, checkRole } from '../directory/users/names.ts'

/** The part of a request that credentials are read from. */
export interface CredentialSource {
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal
  readonly client: SourceClient
  /** The certificate that the client connected with, if the listener asks for one. */
  readonly certificate?: PresentedCertificate | undefined
  /** Names and values in turn, unchanged. */
  readonly rawHeaders: readonly string[]
  header(name: string): string | undefined
  /** Whether the request has a header more than once. */
  isRepeated(name: string): boolean
  /** As CouchDB reads cookies. */
  cookie(name: string): string | undefined
  /** All values of a cookie, as browsers send them. */
  cookieValues(name: string): readonly string[]
  /** Adds a header to the reply if its status is 401. */
  addToUnauthorized(name: string, value: string): void
  /** Left out before the request is authenticated. */
  readonly authenticated?: Authenticated | undefined
}

/** Whether the session of the request was accepted before, and is checked again. */
export const isRunning = ({ authenticated }: Pick<CredentialSource, 'authenticated'>): boolean =>
  authenticated?.credential?.session !== undefined

export interface SourceClient {
  readonly address: string
  /** Address of the peer, which may be a proxy. */
  readonly directAddress: string
  readonly scheme: 'http' | 'https'
  /** The port of the listener. */
  readonly localPort?: number | undefined
  readonly isTrusted: boolean
}

export interface PresentedCertificate {
  /** The values of `CN` in its subject. */
  readonly commonNames: readonly string[]
  readonly validFromMs: number
  readonly validToMs: number
  /** Why TLS does not accept it; `undefined`: it does. */
  readonly problem: string | undefined
}

/** Recognises the credentials that one header, cookie or connection can hold. */
export interface CredentialHandler {
  /** On the wire, in logs and metrics. */
  readonly name: string
  readonly kinds: readonly CredentialKind[]
  /** Never writes to the response. Waits for nothing: what has to, is left to the function that it returns. */
  read(source: CredentialSource): Verdict | WaitForVerdict
}

export type WaitForVerdict = () => Promise<Verdict>

/** `absent`: the request has no credential of this kind, and the next handler is asked. `note`: what was ignored. */
export type Verdict = { readonly kind: 'absent'; readonly note?: string } | AcceptedCredential | RefusedCredential

export interface AcceptedCredential extends AuthenticatedRequest {
  readonly kind: 'accepted'
}

/** The credential is present and wrong: the request is rejected. */
export interface RefusedCredential {
  readonly kind: 'refused'
  readonly error: Refusal
  /** Already recorded by the password check, with a more precise reason. */
  readonly isRecorded?: true
}

export const ABSENT: Verdict = Object.freeze({ kind: 'absent' })

export const accept = (identity: Identity, credential: Credential): AcceptedCredential => ({
  kind: 'accepted',
  identity,
  credential,
})

export const reject = (error: Refusal): RefusedCredential => ({ kind: 'refused', error })

export const isName = (text: string): boolean => checkName(text) === undefined
export const isRole = (text: string): boolean => checkRole(text) === undefined

/**
 * An identity asserted by another authority: a JWT or a proxy. A user of that name in the directory gives it nothing;
 * the role `_admin` alone makes it an administrator.
 */
export const toExternalIdentity = (name: string, roles: readonly string[]): Identity => ({
  name,
  roles: Object.freeze(roles),
  isAdmin: roles.includes(ADMIN_ROLE),
  grants: NO_GRANTS,
})
