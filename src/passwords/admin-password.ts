import { type AdminTextForm, BAD_ADMIN_SALT, isAdminSalt } from './schemes/scheme.ts'
import { type HashedPassword, requireScheme, SCHEMES } from './schemes.ts'

export type AdminPasswordReading =
  | { readonly kind: 'stored'; readonly password: HashedPassword }
  | { readonly kind: 'plain' }
  /** The reason never quotes the text: part of it may be a password. */
  | { readonly kind: 'malformed'; readonly reason: string }

/** Distinguishes the stored forms of `[admins]` from plain text. */
export function readAdminPassword(text: string): AdminPasswordReading {
  for (const { adminText } of SCHEMES) {
    const outcome = adminText?.read(text)
    if (outcome === undefined) continue
    if (typeof outcome === 'string') return { kind: 'malformed', reason: outcome }
    // the schemes with an `adminText` are those new passwords are hashed to
    return { kind: 'stored', password: outcome as HashedPassword }
  }
  return { kind: 'plain' }
}

/** The text for `[admins]`. Throws a TypeError for a salt that this text cannot contain. */
export function renderAdminPassword(password: HashedPassword, form: AdminTextForm = 'plain-prefix'): string {
  const { adminText } = requireScheme(password.scheme)
  if (!adminText) throw new TypeError(`the passwords of administrators cannot be stored as ${password.scheme}`)
  if (!isAdminSalt(password.salt)) throw new TypeError(BAD_ADMIN_SALT)
  return adminText.render(password, form)
}
