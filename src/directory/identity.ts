import type { Session } from './directory.ts'
import type { PresentedSession, TokenOrigin } from './presented-session.ts'
import type { Grant } from './user.ts'

/** Who is asking. */
export interface Identity {
  /** `null`: anonymous, or a superuser token that names nobody. */
  readonly name: string | null
  readonly roles: readonly string[]
  /** An administrator: a name in `[admins]`, or whoever a trusted credential gives the role `_admin`. */
  readonly isAdmin: boolean
  /** What a user may reach at the multi-model door, by database. An administrator needs none. */
  readonly grants: ReadonlyMap<string, Grant>
  /** A token signed with the deployment's own secret that names nobody: above every grant. */
  readonly isSuperuser?: boolean
}

/** An identity, and the handler that vouches for it (`null`: nobody did, the request is anonymous). */
export interface Authenticated {
  readonly identity: Identity
  readonly by: string | null
  /** The session the request came with. */
  readonly session?: PresentedSession | undefined
  /** Set where a token of somebody else's making is all that stands behind the identity. */
  readonly origin?: TokenOrigin | undefined
  readonly bearer?: BearerToken | undefined
  /** The access token that stood in the place of a password. */
  readonly accessToken?: UsedAccessToken | undefined
  /** The request carries the password itself, and it was right. */
  readonly hasPassword?: true | undefined
  /** Nobody was let in, and what was brought goes no further: it is of a kind that lets somebody in. */
  readonly isHeldBack?: true
}

export interface UsedAccessToken {
  /** Tells it from all others there ever were. */
  readonly mark: string
  /** Seconds since the epoch. */
  readonly validUntil: number
}

/** The token of the multi-model door a request came with. */
export interface BearerToken {
  /** Of a token issued here. */
  readonly session: Session | undefined
  /** Seconds since the epoch. */
  readonly expiresAt: number | undefined
  /** Until when it can be renewed: it may rest on something that ends. */
  readonly renewableUntil: number | undefined
  /** The mark of the access token it was got with: it ends with that one. */
  readonly accessToken?: string | undefined
  /** Paths it is good for, each to the letter; `undefined`: all. */
  readonly allowedPaths: readonly string[] | undefined
}

export const ADMIN_ROLE = '_admin'

export const NO_GRANTS: Identity['grants'] = new Map()

export const ANONYMOUS: Authenticated = Object.freeze({
  identity: Object.freeze({ name: null, roles: Object.freeze([]), isAdmin: false, grants: NO_GRANTS }),
  by: null,
})

/** Whether no credential handler accepted the request. `undefined`: none has been asked. */
export const isAnonymous = (authenticated: Authenticated | undefined): authenticated is AnonymousRequest | undefined =>
  authenticated === undefined || authenticated.by === null

type AnonymousRequest = Authenticated & { readonly by: null }

/** Nobody, who brought a credential no application is to see. */
export const HELD_BACK: Authenticated = Object.freeze({ ...ANONYMOUS, isHeldBack: true })
