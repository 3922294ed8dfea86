/** The key of the audit trail, and what is signed with it: checkpoints and erasures. */

import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'
import { attempt } from '../../base/errors.ts'

export interface VerifyingKey {
  readonly id: string
  readonly key: KeyObject
}

export interface AuditSigningKey extends VerifyingKey {
  readonly signing: KeyObject
}

export interface Signature {
  /** Identifies the key. */
  readonly key: string
  readonly signature: string
}

/** A private key, as the content of a file. */
export function makeAuditKey(): string {
  const { privateKey } = generateKeyPairSync('ed25519')
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

/** Throws an error that says what is wrong, without quoting the file. */
export function readSigningKey(pem: string): AuditSigningKey {
  const signing = requireEd25519(() => createPrivateKey(pem))
  return { ...toVerifying(createPublicKey(signing)), signing }
}

/** Accepts the private key too. */
export const readVerifyingKey = (pem: string): VerifyingKey => toVerifying(requireEd25519(() => createPublicKey(pem)))

function requireEd25519(read: () => KeyObject): KeyObject {
  // OpenSSL's message may quote the file
  const key = attempt(read)
  if (key?.asymmetricKeyType === 'ed25519') return key
  throw new Error('it does not hold an Ed25519 key in PEM')
}

const ID_DIGITS = 16

function toVerifying(key: KeyObject): VerifyingKey {
  const der = key.export({ type: 'spki', format: 'der' })
  return { id: createHash('sha256').update(der).digest('hex').slice(0, ID_DIGITS), key }
}

/** A statement begins with its kind and version, so that no signature is valid for another kind. */
export type SignedStatement = readonly unknown[]

const toBytes = (statement: SignedStatement): Buffer => Buffer.from(JSON.stringify(statement))

export const signStatement = (statement: SignedStatement, { id, signing }: AuditSigningKey): Signature => ({
  key: id,
  signature: sign(null, toBytes(statement), signing).toString('base64url'),
})

/** `unknown`: it was signed with a key that is not among these. */
export function checkSignature(
  statement: SignedStatement,
  { key, signature }: Signature,
  keys: readonly VerifyingKey[],
): 'valid' | 'invalid' | 'unknown' {
  const known = keys.find(({ id }) => id === key)
  if (!known) return 'unknown'
  return verify(null, toBytes(statement), known.key, Buffer.from(signature, 'base64url')) ? 'valid' : 'invalid'
}
