import type { Grant, GrantLevel, User } from '../../directory/user.ts'
import { describePassword } from '../../passwords/schemes.ts'

export interface ShownGrant {
  readonly level?: GrantLevel
  readonly collections?: Readonly<Record<string, GrantLevel>>
}

/** A user as it is told: everything but what could be used to become that user. */
export interface ShownUser {
  readonly name: string
  readonly active: boolean
  readonly roles: readonly string[]
  readonly grants: Readonly<Record<string, ShownGrant>>
  /** How the password is stored, in words; `null` where there is none. */
  readonly password: string | null
  readonly revision: string
  readonly accessTokens: number
}

export const showUser = (user: User): ShownUser => ({
  name: user.name,
  active: user.isActive,
  roles: user.document.roles,
  grants: Object.fromEntries([...user.multiModel.grants].map(([database, grant]) => [database, showGrant(grant)])),
  password: describePassword(user.password),
  revision: user.document.revision,
  accessTokens: user.multiModel.tokens.length,
})

const showGrant = ({ level, collections }: Grant): ShownGrant => ({
  ...(level && { level }),
  ...(collections.size > 0 && { collections: Object.fromEntries(collections) }),
})
