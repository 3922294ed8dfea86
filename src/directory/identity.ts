import { isDeepStrictEqual } from 'node:util'
import type { IterationLimits } from '../passwords/hash-policy.ts'
import type { StoredPassword } from '../passwords/schemes.ts'
import type { PresentedSession } from './sessions/session.ts'
import type { AccessToken, Grant } from './users/user.ts'

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
  /** The user can do nothing but set up a second factor: one of its roles needs it. */
  readonly mustSetUpFactor?: true
  /** From then on the user cannot sign in, in seconds since the epoch. */
  readonly expiresAt?: number | undefined
  /** A token without a name, signed with the deployment's own secret. It is not limited by grants. */
  readonly isSuperuser?: boolean
}

/** An identity, and the credential that proved it. */
export type Authenticated = AnonymousRequest | AuthenticatedRequest

interface AnonymousRequest {
  readonly identity: Identity
  readonly credential: undefined
  /** The request has a credential that applications must not see. */
  readonly isHeldBack?: true
}

export interface AuthenticatedRequest {
  readonly identity: Identity
  readonly credential: Credential
}

/** What a request proved its identity with. A member that is left out does not apply to it. */
export interface Credential {
  readonly kind: CredentialKind
  /** The name of the handler that read it: on the wire, in logs and metrics. */
  readonly handler: string
  readonly session?: PresentedSession | undefined
  /** When it ends, in seconds since the epoch. The cookie of a session is renewed by each request. */
  readonly expiresAt?: number | undefined
  /** What it is valid for; `undefined`: everything. */
  readonly scope?: TokenScope | undefined
  /** The exact paths it is valid for; `undefined`: all. */
  readonly allowedPaths?: readonly string[] | undefined
  /** The mark of the access token that it is, or was issued for: it is revoked with that token. */
  readonly accessToken?: string | undefined
  /** The version of the key that verified it, if another issuer signed it. */
  readonly keyVersion?: string | undefined
}

/** What all credentials of one kind have in common: a row of auth/credential.ts. */
export interface CredentialKind {
  readonly name: string
  /**
   * How a browser adds it to the requests of any page: as a header, which a proxy may add too, or with the connection,
   * which no header shows. `undefined`: it does not.
   */
  readonly sentByBrowser?: 'header' | 'connection'
  /** What proves the password of the user. `undefined`: it proves only a delegation. */
  readonly provesPassword?: 'itself' | 'its session'
  /**
   * Whether it would still be accepted for this state of its account. Left out: it is read again. A password is not:
   * after a change of password, each open stream would count as a failed sign-in.
   */
  isStillAccepted?(account: AccountSecrets, credential: Credential, limits: IterationLimits): boolean
}

/** What an account accepts of a client, as far as it can change. */
interface AccountSecrets {
  readonly isAdmin: boolean
  readonly password: StoredPassword
  readonly tokens: readonly AccessToken[]
}

/** The databases and services that an access token is valid for. */
export interface TokenScope {
  readonly databases: readonly string[]
  readonly services: readonly string[]
  /** It is valid only to read databases, and only at the document door. */
  readonly access?: 'ro'
}

/** The token of another issuer that an identity rests on: directly, or through a session opened with it. */
export interface TokenOrigin {
  /** Its `iat` and `exp`, in seconds. */
  readonly issuedAt: number | undefined
  readonly expiresAt: number | undefined
  /** The key that verified it. When that key or the rules for claims change, its sessions are rejected. */
  readonly algorithm: string
  readonly kid: string | undefined
  readonly version: string
}

/** Whether the identity is an administrator or a superuser token. */
export const hasAllRights = ({ isAdmin, isSuperuser = false }: Identity): boolean => isAdmin || isSuperuser

export const ADMIN_ROLE = '_admin'
/** May read metrics and nothing else, as in CouchDB. It is the only role with an underscore that a user may hold. */
export const METRICS_ROLE = '_metrics'

export const NO_GRANTS: Identity['grants'] = new Map()

/** Cardea itself, at the databases behind it. With all rights: CouchDB knows the role, ArangoDB the superuser. */
export const CARDEA: Identity = Object.freeze({
  name: 'cardea',
  roles: [ADMIN_ROLE],
  isAdmin: true,
  isSuperuser: true,
  grants: NO_GRANTS,
})

export const ANONYMOUS: AnonymousRequest = Object.freeze({
  identity: Object.freeze({ name: null, roles: Object.freeze([]), isAdmin: false, grants: NO_GRANTS }),
  credential: undefined,
})

export const HELD_BACK: AnonymousRequest = Object.freeze({ ...ANONYMOUS, isHeldBack: true })

/** Who a request acts as. Before authentication it is anonymous. */
export const identityOf = ({ authenticated }: { readonly authenticated: Authenticated | undefined }): Identity =>
  (authenticated ?? ANONYMOUS).identity

/** Whether no credential was accepted. `undefined`: the request was not authenticated yet. */
export const isAnonymous = (authenticated: Authenticated | undefined): authenticated is AnonymousRequest | undefined =>
  authenticated?.credential === undefined

/** For a user whose second factor is proved elsewhere, or who is about to set one up. */
export const withoutFactorSetup = <T extends Identity>({ mustSetUpFactor: _met, ...others }: T) => others

/** Whether two identities are those of one name with the same rights. */
export const hasSameRights = (now: Identity, before: Identity): boolean =>
  now.name === before.name &&
  now.isAdmin === before.isAdmin &&
  now.mustChangePassword === before.mustChangePassword &&
  now.mustSetUpFactor === before.mustSetUpFactor &&
  isDeepStrictEqual(now.roles, before.roles) &&
  isDeepStrictEqual(now.grants, before.grants)

/** When the user or the credential expires, in seconds since the epoch. */
export const expiryOf = ({ identity, credential }: Authenticated): number =>
  Math.min(identity.expiresAt ?? NEVER, credential?.expiresAt ?? NEVER)

const NEVER = Number.POSITIVE_INFINITY
