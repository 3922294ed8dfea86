// Administrators of the document database, in and out. The syntax of configuration files is for others to read.
import { requireName } from '../directory/check-user.ts'
import type { Administrator } from '../directory/directory.ts'
import { readAdminPassword, renderAdminPassword } from '../passwords/admin-password.ts'
import { type Reading, toReason } from './records.ts'
import { refuse, requireText } from './require.ts'

/** One entry of `[admins]`, out of a file or `_config/admins`. Clear text is a password like any other new one. */
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

/** The value that the document database itself reads, with the pseudo-random function by name; `undefined`: no such. */
export function toDocumentAdministrator({ text }: Administrator): string | undefined {
  const reading = readAdminPassword(text)
  return reading.kind === 'stored' ? renderAdminPassword(reading.password, 'prf') : undefined
}

/** Whether an entry is stored as it is; else it is a password in clear. */
export const isStoredAdministrator = (text: string): boolean => readAdminPassword(text).kind === 'stored'
