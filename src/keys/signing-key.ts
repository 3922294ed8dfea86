import { createHmac, type KeyObject, sign } from 'node:crypto'
import type { EcKey, HmacKey } from './key.ts'

/** A key that signs, with its half that verifies. */
export type SigningKey = HmacSigningKey | EcSigningKey

interface AnySigningKey {
  readonly sign: (bytes: Uint8Array) => Buffer
}

export interface HmacSigningKey extends AnySigningKey {
  readonly alg: 'HS256'
  readonly verifying: HmacKey
}

export interface EcSigningKey extends AnySigningKey {
  readonly alg: 'ES256'
  readonly verifying: EcKey
}

export type Claims = Readonly<Record<string, unknown>>

/** Signs claims with a key its users never see. */
export interface Signer {
  /** Differs from key to key. */
  readonly version: string
  sign(claims: Claims): string
}

export const toHmacSigningKey = (verifying: HmacKey): HmacSigningKey =>
  Object.freeze({
    alg: 'HS256',
    verifying,
    sign: (bytes: Uint8Array) => createHmac('sha256', verifying.key).update(bytes).digest(),
  })

/** `key` is the private half of `verifying`, on P-256. */
export const toEcSigningKey = (key: KeyObject, verifying: EcKey): EcSigningKey =>
  Object.freeze({
    alg: 'ES256',
    verifying,
    sign: (bytes: Uint8Array) => sign('sha256', bytes, { key, dsaEncoding: 'ieee-p1363' }),
  })
