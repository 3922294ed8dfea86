import { createPublicKey, type KeyObject } from 'node:crypto'
import { digestHex } from '../base/encoding.ts'
import {
  type CurveKey,
  createHmacKey,
  findPrivateKey,
  findPublicKey,
  isPemLike,
  readPem,
  toVerificationKey,
} from './key.ts'
import type { RingKey, RingSigner } from './ring.ts'
import { toEcSigningKey, toHmacSigningKey } from './sign.ts'

export type Secret =
  | { readonly kind: 'signer'; readonly signer: RingSigner; readonly isShort: boolean }
  | { readonly kind: 'public'; readonly key: RingKey }
  | { readonly kind: 'empty' }
  | { readonly kind: 'too_long' }
  | { readonly kind: 'not_ec' }

const MAX_SECRET_BYTES = 64

/** A shorter secret can be guessed offline from one token (RFC 7518 3.2). It is accepted with a warning. */
export const SHORT_SECRET_BYTES = 32

/** Raw bytes of an HMAC secret, or the PEM text of an EC key on P-256. Nothing is decoded or trimmed. */
export function readSecret(bytes: Buffer): Secret {
  if (bytes.length === 0) return { kind: 'empty' }
  return isPemLike(bytes) ? readEcSecret(bytes) : readHmacSecret(bytes)
}

/** Reads the bytes of a file: white space at both ends is removed, except from a public key in DER. */
export function readSecretFile(bytes: Buffer): Secret {
  const whole = readSecret(bytes)
  // the last byte of a key may be that of a line break; without it, the key would be taken for a secret
  return whole.kind === 'not_ec' && !isPemLike(bytes) ? whole : readSecret(trim(bytes))
}

const isBlank = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d

/** Removes space, tab, CR and LF at both ends. Everything else is key material. */
export function trim(bytes: Buffer): Buffer {
  let [from, to] = [0, bytes.length]
  while (from < to && isBlank(bytes[from])) from += 1
  while (to > from && isBlank(bytes[to - 1])) to -= 1
  return bytes.subarray(from, to)
}

function readHmacSecret(bytes: Buffer): Secret {
  if (bytes.length > MAX_SECRET_BYTES) return { kind: 'too_long' }
  const key = createHmacKey(bytes, { alg: 'HS256' })
  // a public key in DER is not a secret
  if (key.kind === 'problem') return { kind: 'not_ec' }
  const signer = { key: toHmacSigningKey(key), sha256: digestHex('sha256', bytes) }
  return { kind: 'signer', signer, isShort: bytes.length < SHORT_SECRET_BYTES }
}

function readEcSecret(bytes: Buffer): Secret {
  const sha256 = digestHex('sha256', bytes)
  // `openssl ecparam -genkey` writes the curve in a block of its own before the key
  const [block, ...others] = readPem(bytes.toString('latin1')).filter(({ label }) => label !== 'EC PARAMETERS')
  if (block === undefined || others.length > 0) return { kind: 'not_ec' }
  const privateKey = findPrivateKey(block)
  const publicKey = privateKey ? createPublicKey(privateKey) : findPublicKey(block)
  const verifying = publicKey && findP256(publicKey)
  if (verifying === undefined) return { kind: 'not_ec' }
  if (privateKey === undefined) return { kind: 'public', key: { key: verifying, sha256 } }
  return { kind: 'signer', signer: { key: toEcSigningKey(privateKey, verifying), sha256 }, isShort: false }
}

function findP256(key: KeyObject): CurveKey | undefined {
  const made = toVerificationKey(key, { alg: 'ES256' })
  return made.kind === 'ec' && made.curve === 'P-256' ? made : undefined
}

export type CreateBytes = (size: number) => Buffer

/** The longest secret, of random bytes. None is zero, so that it survives C strings. */
export function createRandomSecret(createBytes: CreateBytes): Buffer {
  const bytes: number[] = []
  while (bytes.length < MAX_SECRET_BYTES) bytes.push(...createBytes(2 * MAX_SECRET_BYTES).filter((byte) => byte !== 0))
  return Buffer.from(bytes.slice(0, MAX_SECRET_BYTES))
}
