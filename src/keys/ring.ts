/** A key ring: one key signs, all verify. Immutable: a change builds a new ring, so no request sees half of it. */
import type { Algorithm } from './algorithms.ts'
import { isKeyFor, type VerificationKey, versionOf } from './key.ts'
import { type Signer, type SigningKey, signToken } from './sign.ts'
import { type Claims, type FoundKeys, type RefusedToken, type VerifiedToken, verify } from './verify.ts'

export interface RingKey {
  readonly key: VerificationKey
  /** SHA-256 of its text, as ArangoDB shows it. */
  readonly sha256: string
}

export interface RingSigner {
  readonly key: SigningKey
  readonly sha256: string
}

export interface KeyRing {
  readonly signing: RingSigner
  /** The signing key first, then those that only verify. */
  readonly verifying: readonly RingKey[]
  /** Differs whenever a key or the order differs. */
  readonly version: string
}

export function createRing(signing: RingSigner, passive: readonly RingKey[] = []): KeyRing {
  const own: RingKey = { key: signing.key.verifying, sha256: signing.sha256 }
  const verifying = Object.freeze([own, ...passive].map((entry) => Object.freeze(entry)))
  const version = versionOf(verifying.map(({ key }) => key.version))
  return Object.freeze({ signing: Object.freeze(signing), verifying, version })
}

const TYPE = 'JWT'

export const signWithRing = (ring: KeyRing, claims: Claims): string =>
  signToken({ typ: TYPE }, claims, ring.signing.key)

export const signerOf = (ring: KeyRing): Signer => ({
  version: ring.version,
  sign: (claims) => signWithRing(ring, claims),
})

export const verifyWithRing = (text: string, ring: KeyRing): VerifiedToken | RefusedToken =>
  verify(text, { types: [TYPE], findKeys: (algorithm) => findRingKeys(ring, algorithm) })

function findRingKeys(ring: KeyRing, algorithm: Algorithm): FoundKeys {
  const keys = ring.verifying.map(({ key }) => key).filter((key) => isKeyFor(key, algorithm))
  return keys.length > 0 ? { kind: 'keys', keys } : { kind: 'refused', reason: 'invalid_alg' }
}

/** Holds digests of the secrets, never a secret. */
export function describeRing(ring: KeyRing) {
  const passive = ring.verifying.slice(1).map(({ sha256 }) => ({ sha256 }))
  return { active: { sha256: ring.signing.sha256 }, passive }
}
