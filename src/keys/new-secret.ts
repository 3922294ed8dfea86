// Makes secrets of tokens, and lists those of a folder. Never shows one.

import { createECDH, createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { digestHex, toBase64Url } from '../base/encoding.ts'
import { replaceFile } from '../base/files.ts'
import { readSecretFile, type Secret, trim } from './secret.ts'
import { describeFileError, listSecretFiles, loadSmallFile } from './secret-folder.ts'

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

/** The order of P-256. */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n
/** More than a key has, so that every key is as likely as any other. */
export const PRIVATE_KEY_SEED_BYTES = 48

/** For ES256: the same bytes make the same key. */
export function derivePrivateKey(bytes: Buffer): KeyObject {
  const number = (BigInt(`0x${bytes.toString('hex')}`) % (ORDER - 1n)) + 1n
  const privateKey = Buffer.from(number.toString(16).padStart(64, '0'), 'hex')
  const pair = createECDH('prime256v1')
  pair.setPrivateKey(privateKey)
  const point = pair.getPublicKey()
  const [x, y] = [toBase64Url(point.subarray(1, 33)), toBase64Url(point.subarray(33))]
  return createPrivateKey({ format: 'jwk', key: { kty: 'EC', crv: 'P-256', x, y, d: toBase64Url(privateKey) } })
}

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

export interface ListedSecret {
  /** Name of the file or of the option. */
  readonly name: string
  /** `active` signs and verifies, `passive` only verifies, `unused` does neither. */
  readonly use: 'active' | 'passive' | 'unused'
  readonly kind: SecretKind | undefined
  readonly sha256: string
}

/** Every file of a folder of secrets, in the order in which they are used. */
export async function listFolder(folder: string): Promise<readonly ListedSecret[]> {
  const { files } = await listSecretFiles(folder)
  const listed: ListedSecret[] = []
  for (const { name, path } of files) {
    const bytes = await loadSmallFile(path)
    const secret = readSecretFile(bytes)
    const use = listed.length === 0 ? 'active' : VERIFIES[secret.kind] ? 'passive' : 'unused'
    listed.push({ name, use, kind: kindOf(secret), sha256: digestHex('sha256', trim(bytes)) })
  }
  return listed
}

/** Whether a secret of this kind verifies tokens. */
const VERIFIES = { signer: true, public: true, empty: false, too_long: false, not_ec: false } as const

function kindOf(secret: Secret): SecretKind | undefined {
  if (secret.kind === 'signer') return secret.signer.key.alg
  return secret.kind === 'public' ? 'ES256' : undefined
}
