/**
 * A key ring: one key signs, all verify. An immutable value: to change a key is to build another ring, so that
 * nobody ever sees half of a change.
 */
import { createHash } from 'node:crypto'
import type { Algorithm } from './algorithms.ts'
import { isKeyFor, type VerificationKey, versionOf } from './key.ts'
import type { SigningKey } from './signing-key.ts'
import { type Claims, type FoundKeys, type RefusedToken, signToken, type VerifiedToken, verify } from './token.ts'

export interface RingKey {
  readonly key: VerificationKey
  /** SHA-256 of its text, as the server shows it. */
  readonly sha256: string
  /** When a retired key dies, in seconds; `undefined`: not by the clock. */
  readonly until?: number
}

export interface RingSigner {
  readonly key: SigningKey
  readonly sha256: string
}

export interface KeyRing {
  readonly signing: RingSigner
  /** The signing key first, then those that only verify, in order. */
  readonly verifying: readonly RingKey[]
  /** Differs whenever a key, its end or the order does. */
  readonly version: string
}

export const sha256Hex = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

export function createRing(signing: RingSigner, passive: readonly RingKey[] = []): KeyRing {
  const own: RingKey = { key: signing.key.verifying, sha256: signing.sha256 }
  const verifying = Object.freeze([own, ...passive].map((entry) => Object.freeze(entry)))
  const version = versionOf(verifying.flatMap(({ key, until }) => [key.version, String(until)]))
  return Object.freeze({ signing: Object.freeze(signing), verifying, version })
}

/** A ring that signs with another key. The one before verifies until it dies; who died before now is left out. */
export function rotateRing(ring: KeyRing, signing: RingSigner, times: { nowSeconds: number; until: number }): KeyRing {
  const [before, ...retired] = ring.verifying
  const others = [...(before ? [{ ...before, until: times.until }] : []), ...retired]
  const isNew = ({ key }: RingKey) => key.version !== signing.key.verifying.version
  return createRing(
    signing,
    others.filter((entry) => isNew(entry) && isAlive(entry, times.nowSeconds)),
  )
}

const isAlive = ({ until }: RingKey, nowSeconds: number): boolean => until === undefined || nowSeconds < until

/** The living keys of a ring that are for this algorithm. */
function findRingKeys(ring: KeyRing, algorithm: Algorithm, nowSeconds: number): FoundKeys {
  const suited = ring.verifying.filter((entry) => isKeyFor(entry.key, algorithm) && isAlive(entry, nowSeconds))
  if (suited.length === 0) return { kind: 'refused', reason: 'invalid_alg' }
  return { kind: 'keys', keys: suited.map(({ key }) => key) }
}

export const signWithRing = (ring: KeyRing, claims: Claims): string =>
  signToken({ typ: 'JWT' }, claims, ring.signing.key)

export function verifyWithRing(
  text: string,
  ring: KeyRing,
  rules: { readonly types: readonly (string | undefined)[]; readonly nowSeconds: number },
): VerifiedToken | RefusedToken {
  const findKeys = (algorithm: Algorithm) => findRingKeys(ring, algorithm, rules.nowSeconds)
  return verify(text, { types: rules.types, findKeys })
}

export interface RingDescription {
  readonly active: { readonly sha256: string }
  readonly passive: readonly { readonly sha256: string }[]
}

/** What may be told about a ring: digests of its secrets, never the secrets. */
export function describeRing(ring: KeyRing): RingDescription {
  const passive = ring.verifying.slice(1).map(({ sha256 }) => ({ sha256 }))
  return { active: { sha256: ring.signing.sha256 }, passive }
}
