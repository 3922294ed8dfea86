/**
 * A signed statement: the chain of a node had this end, and its oldest records up to here were deleted because of their
 * age. Without it, an attacker who can write to the store could remove the newest records.
 */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto'
import { isJsonObject, readJson } from '../../base/json.ts'
import type { ChainPlace } from './audit-record.ts'

export interface Checkpoint extends ChainPlace {
  readonly node: string
  readonly purged: ChainPlace
  /** Milliseconds since the epoch. */
  readonly time: number
}

export interface SignedCheckpoint extends Checkpoint {
  /** Identifies the key. */
  readonly key: string
  readonly signature: string
}

export interface VerifyingKey {
  readonly id: string
  readonly key: KeyObject
}

export interface SigningKey extends VerifyingKey {
  readonly signing: KeyObject
}

/** A private key, as the content of a file. */
export function makeAuditKey(): string {
  const { privateKey } = generateKeyPairSync('ed25519')
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

/** Throws an error that says what is wrong, without quoting the file. */
export function readSigningKey(pem: string): SigningKey {
  const signing = requireEd25519(() => createPrivateKey(pem))
  return { ...toVerifying(createPublicKey(signing)), signing }
}

/** Accepts the private key too. */
export const readVerifyingKey = (pem: string): VerifyingKey => toVerifying(requireEd25519(() => createPublicKey(pem)))

function requireEd25519(read: () => KeyObject): KeyObject {
  const key = tryRead(read)
  if (key?.asymmetricKeyType === 'ed25519') return key
  throw new Error('it does not hold an Ed25519 key in PEM')
}

function tryRead(read: () => KeyObject): KeyObject | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

const ID_DIGITS = 16

function toVerifying(key: KeyObject): VerifyingKey {
  const der = key.export({ type: 'spki', format: 'der' })
  return { id: createHash('sha256').update(der).digest('hex').slice(0, ID_DIGITS), key }
}

export function signCheckpoint(checkpoint: Checkpoint, { id, signing }: SigningKey): string {
  const signature = sign(null, toSigned(checkpoint), signing).toString('base64url')
  const { node, sequence, hash, purged, time } = checkpoint
  return JSON.stringify({ node, sequence, hash, purged, time, key: id, signature })
}

const toSigned = ({ node, sequence, hash, purged, time }: Checkpoint): Buffer =>
  Buffer.from(JSON.stringify(['cardea-audit-checkpoint', 1, node, sequence, hash, purged.sequence, purged.hash, time]))

/** `undefined`: it is not a checkpoint. */
export function readCheckpoint(text: string): SignedCheckpoint | undefined {
  const reading = readJson(text)
  const value = reading.kind === 'json' && isJsonObject(reading.value) ? reading.value : {}
  const { node, sequence, hash, time, key, signature } = value
  const purged = readPlace(value['purged'])
  const place = readPlace({ sequence, hash })
  if (!purged || !place || typeof node !== 'string' || typeof time !== 'number') return undefined
  if (typeof key !== 'string' || typeof signature !== 'string') return undefined
  return { node, ...place, purged, time, key, signature }
}

function readPlace(value: unknown): ChainPlace | undefined {
  if (!isJsonObject(value)) return undefined
  const { sequence, hash } = value
  return Number.isSafeInteger(sequence) && typeof hash === 'string' ? { sequence: Number(sequence), hash } : undefined
}

/** `unknown`: it was signed with a key that is not among these. */
export function checkSignature(
  signed: SignedCheckpoint,
  keys: readonly VerifyingKey[],
): 'valid' | 'invalid' | 'unknown' {
  const known = keys.find(({ id }) => id === signed.key)
  if (!known) return 'unknown'
  const isValid = verify(null, toSigned(signed), known.key, Buffer.from(signed.signature, 'base64url'))
  return isValid ? 'valid' : 'invalid'
}
