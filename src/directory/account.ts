import { digestHex, frame } from '../base/encoding.ts'
import type { StoredPassword } from '../passwords/schemes.ts'
import { ADMIN_ROLE, type Identity } from './identity.ts'
import type { SessionEpoch } from './session-epoch.ts'
import { type AccessToken, findTotp, type Json, type RecordFields, type User } from './users/user.ts'

/** An identity that can sign in with a password, with the fields of the user's record. */
export interface Account extends Identity, Partial<Omit<RecordFields, keyof Identity | 'isActive'>> {
  readonly name: string
  readonly password: StoredPassword
  /** Changes whenever the stored password does. */
  readonly version: string
  /** Only sessions of its generation are live. */
  readonly sessionEpoch: SessionEpoch
  /** The member `totp` of the document. If it is set, even in an invalid form, a code is required with the password. */
  readonly totp?: Json | undefined
  /** A role of it needs a second factor, and it has passkeys and no TOTP: the password alone is not enough. */
  readonly needsPasskey?: true
  /** Accepted in place of the password at the multi-model door. */
  readonly tokens: readonly AccessToken[]
}

/** Whether the password alone is not enough to sign in. */
export const needsSecondStep = ({ totp, needsPasskey }: Pick<Account, 'totp' | 'needsPasskey'>): boolean =>
  totp !== undefined || needsPasskey === true

export const isAccount = (identity: Identity): identity is Account => 'sessionEpoch' in identity

/**
 * The account of a user. Only `[admins]` makes an administrator, so the role `_admin` of a record is ignored. Roles that
 * external accounts give are not among its roles: most credentials must not have them.
 */
export const toAccount = ({ kind: _kind, isActive: _isActive, document, multiModel, ...user }: User): Account => ({
  ...user,
  roles: Object.freeze(document.roles.filter(isOfUser)),
  isAdmin: false,
  grants: multiModel.grants,
  version: toVersion(user.password),
  totp: findTotp({ document }),
  tokens: multiModel.tokens,
})

const isOfUser = (role: string): boolean => role !== ADMIN_ROLE

/** For a session or a token of an external account: the user with the roles that this account gives. */
export const withGivenRoles = <A extends Pick<Account, 'roles'>>(account: A, given: readonly string[]): A => ({
  ...account,
  roles: Object.freeze([...new Set([...account.roles, ...given.filter(isOfUser)])]),
})

/**
 * Never changes, and no later account of the name has it. The first user of a name has one that comes from the name, so
 * that users of every version have one.
 */
export const idOf = ({ id, name, isAdmin = false }: Pick<Account, 'id' | 'name'> & Partial<Account>): string =>
  id ?? toUuid(digestHex('sha256', frame([isAdmin ? 'administrator' : 'user', name])))

/** Version 8 is for ids that are made in another way than by chance or time. */
const toUuid = (hex: string): string =>
  `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`

/** Different for every stored password. */
export const toVersion = (password: StoredPassword): string => digestHex('sha256', JSON.stringify(password))

/** What an account may do at a door, and why: explained by the rules that the door itself applies. */
export interface DoorAccess {
  readonly door: string
  readonly rules: readonly AccessRule[]
}

export interface AccessRule {
  /** A verb and its object. */
  readonly what: string
  /** `null`: the database behind the door decides. */
  readonly isAllowed: boolean | null
  readonly because: string
}
