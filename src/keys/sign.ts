import { createHmac, type KeyObject, sign } from 'node:crypto'
import { toBase64Url } from '../base/encoding.ts'
import { type CurveKey, createHmacKey, type HmacKey } from './key.ts'
import type { Claims } from './verify.ts'

/** A key that signs, with its half that verifies. */
export interface SigningKey {
  readonly alg: 'HS256' | 'ES256'
  readonly verifying: HmacKey | CurveKey
  readonly sign: (bytes: Uint8Array) => Buffer
}

export const toHmacSigningKey = (verifying: HmacKey): SigningKey =>
  Object.freeze({
    alg: 'HS256',
    verifying,
    sign: (bytes: Uint8Array) => createHmac('sha256', verifying.key).update(bytes).digest(),
  })

/** `key` is the private half of `verifying`, on P-256. */
export const toEcSigningKey = (key: KeyObject, verifying: CurveKey): SigningKey =>
  Object.freeze({
    alg: 'ES256',
    verifying,
    sign: (bytes: Uint8Array) => sign('sha256', bytes, { key, dsaEncoding: 'ieee-p1363' }),
  })

/** Signs claims with a key that the caller does not see. */
export interface Signer {
  /** Differs from key to key. */
  readonly version: string
  sign(claims: Claims): string
}

/** Keeps the order of the claims. The key decides the `alg` of the header. */
export function signToken(
  header: { readonly typ: string; readonly kid?: string },
  claims: Claims,
  key: SigningKey,
): string {
  const head = toBase64Url(JSON.stringify({ alg: key.alg, ...header }))
  const signed = `${head}.${toBase64Url(JSON.stringify(claims))}`
  return `${signed}.${toBase64Url(key.sign(Buffer.from(signed, 'latin1')))}`
}

/** Signs with HS256. `undefined`: the secret cannot be used as a key. */
export function createHmacSigner(secret: string): Signer | undefined {
  const key = createHmacKey(Buffer.from(secret), { alg: 'HS256' })
  if (key.kind === 'problem') return undefined
  const signing = toHmacSigningKey(key)
  return { version: key.version, sign: (claims) => signToken({ typ: 'JWT' }, claims, signing) }
}
