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
}

/** An identity, and the handler that vouches for it (`null`: nobody did, the request is anonymous). */
export interface Authenticated {
  readonly identity: Identity
  readonly by: string | null
}

export const ADMIN_ROLE = '_admin'

export const NO_GRANTS: Identity['grants'] = new Map()

export const ANONYMOUS: Authenticated = Object.freeze({
  identity: Object.freeze({ name: null, roles: Object.freeze([]), isAdmin: false, grants: NO_GRANTS }),
  by: null,
})
