/**
 * Keys that verify, each bound to its kind, curve and size. A PEM text or a public key must never become an HMAC
 * secret: otherwise a client that knows the public key could sign tokens.
 */

import { createHash, createPrivateKey, createPublicKey, createSecretKey, type KeyObject } from 'node:crypto'
import { readBase64 } from '../base/encoding.ts'
import { attempt } from '../base/errors.ts'
import { type Algorithm, CURVES, type Curve, MINIMUM_RSA_BITS } from './algorithms.ts'
import type { KeyLimits } from './key-limits.ts'

interface PemBlock {
  readonly label: string
  readonly der: Buffer
}

const BLOCK = /-----BEGIN ([A-Z0-9 ]{1,40})-----([A-Za-z0-9+/=\s]{1,20000})-----END \1-----/g

/** The blocks of a PEM text. Blocks with headers (encrypted keys) or invalid base64 are left out. */
export const readPem = (text: string): readonly PemBlock[] =>
  [...text.matchAll(BLOCK)].flatMap(([, label = '', body = '']) => {
    const der = readBase64(body)
    return der === undefined ? [] : [{ label, der }]
  })

const PUBLIC_FORMS: ReadonlyMap<string, 'spki' | 'pkcs1'> = new Map([
  ['PUBLIC KEY', 'spki'],
  ['RSA PUBLIC KEY', 'pkcs1'],
])

const WRONG_KIND = { rsa: 'not_rsa', ec: 'not_ec', eddsa: 'not_eddsa' } as const

export type PublicKind = keyof typeof WRONG_KIND

/**
 * Reads a public key of this kind from one PEM block, on several lines or on one line with `\n` as two characters. A
 * private key is rejected: it does not belong in a place for public keys.
 */
export function readPublicPem(text: string, kind: PublicKind, names: KeyNames = {}): VerificationKey | KeyProblem {
  const [block, ...others] = readPem(text.replaceAll('\\r', '\r').replaceAll('\\n', '\n'))
  if (block === undefined || others.length > 0) return toKeyProblem('invalid')
  const key = findPublicKey(block)
  if (key === undefined) return toKeyProblem(PUBLIC_FORMS.has(block.label) ? 'invalid' : WRONG_KIND[kind])
  const made = toVerificationKey(key, names)
  return made.kind === kind || made.kind === 'problem' ? made : toKeyProblem(WRONG_KIND[kind])
}

export function findPublicKey({ label, der }: PemBlock): KeyObject | undefined {
  const type = PUBLIC_FORMS.get(label)
  return type && attempt(() => createPublicKey({ key: der, format: 'der', type }))
}

const PRIVATE_FORMS: ReadonlyMap<string, 'pkcs8' | 'sec1'> = new Map([
  ['PRIVATE KEY', 'pkcs8'],
  ['EC PRIVATE KEY', 'sec1'],
])

export function findPrivateKey({ label, der }: PemBlock): KeyObject | undefined {
  const type = PRIVATE_FORMS.get(label)
  return type && attempt(() => createPrivateKey({ key: der, format: 'der', type }))
}

interface AnyKey extends KeyNames {
  readonly key: KeyObject
  /** Digest of the key, its names and limits. */
  readonly version: string
  /** Left out: tokens may say everything. */
  readonly limits?: KeyLimits
}

export interface HmacKey extends AnyKey {
  readonly kind: 'hmac'
  readonly bytes: number
}

export interface RsaKey extends AnyKey {
  readonly kind: 'rsa'
  readonly bits: number
}

export interface CurveKey extends AnyKey {
  readonly kind: 'ec' | 'eddsa'
  readonly curve: Curve
}

export type VerificationKey = HmacKey | RsaKey | CurveKey

/** Messages for operators and clients. The first four are CouchDB's. */
const KEY_PROBLEMS = {
  invalid: 'Not a valid key',
  not_rsa: 'not an RSA public key',
  not_ec: 'not an EC public key',
  not_eddsa: 'not an EdDSA public key',
  empty_secret: 'the secret is empty',
  short_secret: 'the secret is shorter than its algorithm requires',
  public_secret: 'a public key or PEM text is not a secret',
  private_key: 'this is a private key: expected the public key',
  unknown_curve: 'the curve is not supported',
  short_rsa: `an RSA key needs at least ${MINIMUM_RSA_BITS} bits`,
  weak_rsa: 'the RSA key is known to be weak',
  foreign_use: 'the key is not meant for verifying signatures',
  wrong_algorithm: 'the key is not for this algorithm',
  secret_not_allowed: 'a secret is not accepted here',
} as const satisfies Record<string, string>

type KeyProblemCode = keyof typeof KEY_PROBLEMS

export interface KeyProblem {
  readonly kind: 'problem'
  readonly code: KeyProblemCode
  readonly reason: string
}

export const toKeyProblem = (code: KeyProblemCode): KeyProblem => ({
  kind: 'problem',
  code,
  reason: KEY_PROBLEMS[code],
})

/** Optional members of a key. */
export interface KeyNames {
  /** The only algorithm the key may be used with; left out: every algorithm of its kind. */
  readonly alg?: string
  readonly kid?: string
  /** A key of Entra ID: the issuer that it is for. With {tenantid} in it: all. */
  readonly issuer?: string
}

/** Whether this key may be used with this algorithm at all (RFC 8725 3.1). */
export function isKeyFor(key: VerificationKey, algorithm: Algorithm): boolean {
  if (key.kind !== algorithm.kind) return false
  if (key.alg !== undefined && key.alg !== algorithm.name) return false
  return !('curve' in key) || algorithm.curves.includes(key.curve)
}

/** The length of a signature of this key and algorithm. */
export function signatureBytesOf(key: VerificationKey, algorithm: Algorithm): number | undefined {
  if (key.kind === 'rsa') return Math.ceil(key.bits / 8)
  return 'curve' in key ? CURVES.get(key.curve)?.signatureBytes : algorithm.macBytes
}

/** An HMAC secret. A public key, in PEM or DER, is rejected. */
export function createHmacKey(secret: Uint8Array, names: KeyNames = {}): HmacKey | KeyProblem {
  if (secret.byteLength === 0) return toKeyProblem('empty_secret')
  if (isPemLike(secret) || isPublicDer(secret)) return toKeyProblem('public_secret')
  const version = versionOf(['hmac', names.alg ?? '', names.kid ?? ''], secret)
  return Object.freeze({ kind: 'hmac', key: createSecretKey(secret), bytes: secret.byteLength, version, ...names })
}

/** Whether bytes contain a PEM marker. A part of a PEM text is not accepted as a secret either. */
export function isPemLike(bytes: Uint8Array): boolean {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return view.includes('-----BEGIN') || view.includes('-----END')
}

function isPublicDer(bytes: Uint8Array): boolean {
  const key = Buffer.from(bytes)
  return (['spki', 'pkcs1'] as const).some((type) => attempt(() => createPublicKey({ key, format: 'der', type })))
}

/** A public key. One that is too small, weak or of an unknown kind is rejected. */
export function toVerificationKey(key: KeyObject, names: KeyNames = {}): VerificationKey | KeyProblem {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key
  if (type === 'rsa') return toRsaKey(key, names)
  const nodeName = type === 'ec' ? details?.namedCurve : type
  const row = CURVES.values().find((each) => each.nodeName === nodeName)
  if (row) return bind(key, { kind: row.kind, curve: row.curve }, names)
  return toKeyProblem(type === 'ec' ? 'unknown_curve' : 'invalid')
}

// OpenSSL does not verify with longer keys; rejected here, the operator sees the reason
const MAX_RSA_BITS = 16_384

function toRsaKey(key: KeyObject, names: KeyNames): RsaKey | KeyProblem {
  const { modulusLength: bits = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {}
  if (bits < MINIMUM_RSA_BITS) return toKeyProblem('short_rsa')
  if (bits > MAX_RSA_BITS || publicExponent < 3n || publicExponent % 2n === 0n) return toKeyProblem('invalid')
  return isRocaModulus(modulusOf(key)) ? toKeyProblem('weak_rsa') : bind(key, { kind: 'rsa', bits }, names)
}

const modulusOf = (key: KeyObject): bigint =>
  BigInt(`0x${Buffer.from(key.export({ format: 'jwk' }).n ?? '', 'base64url').toString('hex') || '0'}`)

const ROCA_GENERATOR = 65_537
const ROCA_PRIMES = [
  3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109, 113,
  127, 131, 137, 139, 149, 151, 157, 163, 167,
]

/** For each small prime, the remainders of the powers of the generator. */
const ROCA_REMAINDERS = ROCA_PRIMES.map((prime) => {
  const remainders = new Set<number>()
  for (let power = 1; !remainders.has(power); power = (power * ROCA_GENERATOR) % prime) remainders.add(power)
  return { prime: BigInt(prime), remainders }
})

/**
 * Whether a modulus was made by a chip with CVE-2017-15361 ("ROCA") and can be factored: its primes are powers of
 * 65537 modulo many small primes. A sound modulus matches less than once in a hundred million.
 */
export const isRocaModulus = (modulus: bigint): boolean =>
  ROCA_REMAINDERS.every(({ prime, remainders }) => remainders.has(Number(modulus % prime)))

function bind<T extends { readonly kind: string }>(key: KeyObject, about: T, names: KeyNames) {
  const material = key.export({ format: 'der', type: 'spki' })
  const version = versionOf([about.kind, names.alg ?? '', names.kid ?? '', names.issuer ?? ''], material)
  return Object.freeze({ ...about, key, version, ...names })
}

/** Each part is preceded by its length, so that no two lists have the same digest. */
export function versionOf(labels: readonly string[], material: Uint8Array = new Uint8Array()): string {
  const hash = createHash('sha256')
  for (const label of labels) hash.update(`${Buffer.byteLength(label)}:${label}`)
  return hash.update(material).digest('hex')
}
