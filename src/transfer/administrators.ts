// Reads and writes administrators of CouchDB: single entries, not the configuration files that contain them.
import { requireName } from '../directory/check-user.ts'
import type { Administrator } from '../directory/directory.ts'
import { readAdminPassword, renderAdminPassword } from '../passwords/admin-password.ts'
import { type Reading, toReason } from './records.ts'
import { refuse, requireText } from './require.ts'

/** Reads one entry of `[admins]`, from a file or `_config/admins`. Clear text is a new password. */
export function readAdministrator(name: string, value: unknown): Reading {
  try {
    requireName(name)
    const text = requireText(value, 'The value')
    const reading = readAdminPassword(text)
    if (reading.kind === 'malformed') throw refuse(`The stored password cannot be read: ${reading.reason}.`)
    return { kind: 'administrator', id: name, text }
  } catch (error) {
    return { kind: 'refused', id: name, reason: toReason(error) }
  }
}

/** The value as CouchDB reads it, with the name of the PRF; `undefined`: the text is no stored password. */
export function toDocumentAdministrator({ text }: Administrator): string | undefined {
  const reading = readAdminPassword(text)
  return reading.kind === 'stored' ? renderAdminPassword(reading.password, 'prf') : undefined
}

/** Whether an entry is a stored password; otherwise it is clear text. */
export const isStoredAdministrator = (text: string): boolean => readAdminPassword(text).kind === 'stored'
