import type { Config } from '../config/options.ts'
import { toHashParameters } from '../live-config/password-options.ts'
import { renderAdminPassword } from '../passwords/admin-password.ts'
import { createHasher } from '../passwords/hasher.ts'
import { toDocumentMembers } from '../passwords/password.ts'
import { isPrf, PRFS } from '../passwords/password-digest.ts'
import { checkPassword } from '../passwords/password-rules.ts'

/** `document`: members of a user document. `admin`: for `[admins]` of Cardea. `prf`: for `[admins]` of CouchDB. */
export const HASH_FORMS = ['document', 'admin', 'prf'] as const
export type HashForm = (typeof HASH_FORMS)[number]

export const HASH_PRFS: readonly string[] = Object.keys(PRFS)

export interface HashOptions {
  readonly form: HashForm
  /** By default that of the configuration. */
  readonly prf: string | undefined
  readonly iterations: number | undefined
}

/** Why a text can never be a password, whatever the password rules. */
export const checkHashable = (password: string): string | undefined => checkPassword([], password)

/** A password in a stored form. */
export async function hashPassword(password: string, options: HashOptions, config: Config): Promise<unknown> {
  const configured = toHashParameters(config)
  const { prf = configured.prf, iterations = configured.iterations, form } = options
  if (!isPrf(prf)) throw new TypeError('There is no such pseudo-random function')
  const stored = await createHasher({ queue: () => 1 }).hash(password, { scheme: 'pbkdf2', prf, iterations })
  if (form === 'document') return toDocumentMembers(stored)
  return renderAdminPassword(stored, form === 'prf' ? 'prf' : 'plain-prefix')
}
