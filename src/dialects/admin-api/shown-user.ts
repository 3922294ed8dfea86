import type { Grant, GrantLevel, User } from '../../directory/user.ts'
import type { StoredPassword } from '../../passwords/password.ts'

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

export function describePassword(password: StoredPassword): string | null {
  if (password.scheme === 'unusable') return password.reason === 'absent' ? null : `unusable (${password.reason})`
  if (password.scheme === 'simple') return 'simple'
  if (password.scheme === 'salted') return `salted ${password.method}`
  return `${password.scheme} ${password.prf} ${password.iterations}`
}
