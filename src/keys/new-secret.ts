// Makes secrets of tokens. Never shows one.

import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { digestHex } from '../base/encoding.ts'
import { replaceFile } from '../base/files.ts'
import { describeFileError } from './secret-folder.ts'

/** Why a secret cannot be made, listed or replaced, as a message. */
export class SecretProblem extends Error {
  override readonly name = 'SecretProblem'
  /** Whether a file exists that must not be overwritten. */
  readonly isConflict: boolean
  constructor(message: string, isConflict = false) {
    super(message)
    this.isConflict = isConflict
  }
}

export type SecretKind = 'HS256' | 'ES256'

/** 32 bytes are 64 hexadecimal digits: the longest secret that ArangoDB accepts. */
export const SECRET_BYTES = { least: 16, most: 32 }

/** For ES256. */
export const generatePrivateKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey

/** The text of a new secret: random bytes in hexadecimal digits, or a private key in PEM. */
export function createSecretText(kind: SecretKind, bytes: number = SECRET_BYTES.most): string {
  if (kind === 'HS256') return randomBytes(bytes).toString('hex')
  return generatePrivateKey().export({ type: 'pkcs8', format: 'pem' }).toString().trim()
}

/** Creates a file that only its owner can read. An existing file is never overwritten. */
export function createSecretFile(path: string, kind: SecretKind, bytes?: number) {
  if (existsSync(path)) throw new SecretProblem(`${path} is there already: nothing was changed.`, true)
  const text = createSecretText(kind, bytes)
  try {
    replaceFile(path, text)
  } catch (error) {
    throw new SecretProblem(`${path} cannot be written: ${describeFileError(error)}`)
  }
  return { path, kind, sha256: digestHex('sha256', Buffer.from(text)) }
}
