import { digestHex } from '../passwords/password-digest.ts'
import type { StoredPassword } from '../passwords/schemes.ts'
import { ADMIN_ROLE, type Identity } from './identity.ts'
import type { AccessToken, Json, SessionEpoch, User } from './user.ts'

/** Somebody who can sign in with a password. */
export interface Account extends Identity {
  readonly name: string
  readonly password: StoredPassword
  /** Changes whenever the stored password does. */
  readonly version: string
  /** Only sessions of this generation are live. */
  readonly sessionEpoch: SessionEpoch
  /** The member `totp` of the document. Whoever has one, of whatever form, needs a code beside the password. */
  readonly totp?: Json | undefined
  /** What is as good as the password at the multi-model door. */
  readonly tokens: readonly AccessToken[]
}

/** Who signs in as this user. Only `[admins]` makes an administrator, whatever a record says. */
export const toAccount = ({ name, document, multiModel, password, sessionEpoch }: User): Account => ({
  name,
  roles: Object.freeze(document.roles.filter((role) => role !== ADMIN_ROLE)),
  isAdmin: false,
  grants: multiModel.grants,
  password,
  version: toVersion(password),
  sessionEpoch,
  totp: document.members.find(([member]) => member === 'totp')?.[1],
  tokens: multiModel.tokens,
})

/** A text that is another one for another stored password. */
export const toVersion = (password: StoredPassword): string => digestHex('sha256', JSON.stringify(password))
