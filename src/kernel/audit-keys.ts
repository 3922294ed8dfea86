// The files with the keys of the audit trail.
import { readBounded } from '../base/files.ts'
import { type AuditSigningKey, readSigningKey } from '../observe/audit/audit-key.ts'
import { reasonOf, StartError } from './start-error.ts'

/** `undefined`: no key is configured. */
export const loadAuditKey = (file: string): AuditSigningKey | undefined =>
  file === '' ? undefined : loadKeyFile('audit.key-file', file, readSigningKey)

/** `undefined`: there is no webhook. */
export function loadWebhookKey(destinations: readonly string[], file: string): Uint8Array | undefined {
  if (!destinations.some((text) => /^https?:/.test(text))) return undefined
  if (file === '') throw new StartError('audit.webhook-key-file: a webhook in audit.destinations needs it')
  return loadKeyFile('audit.webhook-key-file', file, (text) => {
    if (text.trim() === '') throw new Error('it is empty')
    return Buffer.from(text.trim())
  })
}

const MAX_KEY_BYTES = 10_000

/** Throws a `StartError` that begins with the name of the option. */
export function loadKeyFile<K>(option: string, file: string, read: (text: string) => K): K {
  try {
    return read(readBounded(file, MAX_KEY_BYTES).bytes.toString())
  } catch (error) {
    throw new StartError(`${option}: ${file} cannot be used: ${reasonOf(error)}`, { cause: error })
  }
}
