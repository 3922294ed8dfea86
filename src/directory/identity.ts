import type { PresentedSession, Session } from './sessions/session.ts'
import type { Grant } from './users/user.ts'

/** Who the request acts as. */
export interface Identity {
  /** `null`: anonymous, or a superuser token without a name. */
  readonly name: string | null
  readonly roles: readonly string[]
  /** An administrator: a name in `[admins]`, or a trusted credential with the role `_admin`. */
  readonly isAdmin: boolean
  /** What a user may access at the multi-model door, by database. An administrator needs no grants. */
  readonly grants: ReadonlyMap<string, Grant>
  /** The user can do nothing but change the password. */
  readonly mustChangePassword?: true | undefined
  /** From then on the user cannot sign in, in seconds since the epoch. */
  readonly expiresAt?: number | undefined
  /** A token without a name, signed with the deployment's own secret. It is not limited by grants. */
  readonly isSuperuser?: boolean
}

/** An identity, and the credential handler that decided it (`null`: none did, the request is anonymous). */
export interface Authenticated {
  readonly identity: Identity
  readonly by: string | null
  /** The session the request came with. */
  readonly session?: PresentedSession | undefined
  /** Set if the identity rests only on a token of another issuer. */
  readonly origin?: TokenOrigin | undefined
  readonly bearer?: BearerToken | undefined
  /** When the client certificate that the identity rests on expires, in seconds since the epoch. */
  readonly certificateExpiresAt?: number | undefined
  /** The access token that was sent in place of a password. */
  readonly accessToken?: UsedAccessToken | undefined
  /** What the access token behind the credential is valid for; `undefined`: everything. */
  readonly scope?: TokenScope | undefined
  /** The request carries the correct password itself. */
  readonly hasPassword?: true | undefined
  /** Anonymous, but the request carries a credential that must not be forwarded. */
  readonly isHeldBack?: true
}

/** The databases and services that an access token is valid for. */
export interface TokenScope {
  readonly databases: readonly string[]
  readonly services: readonly string[]
}

export interface UsedAccessToken {
  /** Unique among all tokens, deleted ones included. */
  readonly mark: string
  /** Seconds since the epoch. */
  readonly validUntil: number
}

/** The token of the multi-model door that a request came with. */
export interface BearerToken {
  /** The session of a token that Cardea issued. */
  readonly session: Session | undefined
  /** Its `iat` and `exp`, in seconds. */
  readonly issuedAt?: number | undefined
  readonly expiresAt: number | undefined
  /** It cannot be renewed beyond this time, because the credential it was issued for expires then. */
  readonly renewableUntil: number | undefined
  /** The mark of the access token it was issued for: it is revoked with that token. */
  readonly accessToken?: string | undefined
  /** The exact paths it is valid for; `undefined`: all. */
  readonly allowedPaths: readonly string[] | undefined
}

/** The token of another issuer that an identity rests on: directly, or through a session opened with it. */
export interface TokenOrigin {
  /** Its `iat` and `exp`, in seconds. */
  readonly issuedAt: number | undefined
  readonly expiresAt: number | undefined
  /** The key that verified it. When that key is removed, the token and its sessions are rejected. */
  readonly algorithm: string
  readonly kid: string | undefined
  readonly keyVersion: string
}

export const ADMIN_ROLE = '_admin'

export const NO_GRANTS: Identity['grants'] = new Map()

export const ANONYMOUS: Authenticated = Object.freeze({
  identity: Object.freeze({ name: null, roles: Object.freeze([]), isAdmin: false, grants: NO_GRANTS }),
  by: null,
})

/** Who a request acts as. Before authentication it is anonymous. */
export const identityOf = ({ authenticated }: { readonly authenticated: Authenticated | undefined }): Identity =>
  (authenticated ?? ANONYMOUS).identity

/** Whether no credential handler accepted the request. `undefined`: it was not authenticated yet. */
export const isAnonymous = (authenticated: Authenticated | undefined): authenticated is AnonymousRequest | undefined =>
  authenticated === undefined || authenticated.by === null

type AnonymousRequest = Authenticated & { readonly by: null }

/** An anonymous request with a credential that applications must not see. */
export const HELD_BACK: Authenticated = Object.freeze({ ...ANONYMOUS, isHeldBack: true })
