/** Who is asking. */
export interface Identity {
  /** `null`: anonymous, or a superuser token that names nobody. */
  readonly name: string | null
  readonly roles: readonly string[]
  /** An administrator: a name in `[admins]`, or whoever a trusted credential gives the role `_admin`. */
  readonly isAdmin: boolean
}

/** An identity, and the handler that vouches for it (`null`: nobody did, the request is anonymous). */
export interface Authenticated {
  readonly identity: Identity
  readonly by: string | null
}

export const ADMIN_ROLE = '_admin'

export const ANONYMOUS: Authenticated = Object.freeze({
  identity: Object.freeze({ name: null, roles: Object.freeze([]), isAdmin: false }),
  by: null,
})
