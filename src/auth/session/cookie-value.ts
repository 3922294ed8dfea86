/**
 * The value of the AuthSession cookie of a user: the base64url form of
 *
 *     name ":" T ":" MAC(name ":" T)                CouchDB's form, without a session id: read only
 *     name ":" T ":" id MAC(name ":" T ":" id)      Cardea's form, with 16 bytes of session id
 *
 * T is Unix seconds in hexadecimal. The key of the MAC is the secret followed by a salt of the user. The signed text
 * of the first form has one colon, that of the second has two or more, so neither form passes for the other.
 */

import { createHash, createHmac } from 'node:crypto'
import { isSameSecret } from '../../base/compare.ts'
import { readBase64Url, readUtf8, toBase64Url } from '../../base/encoding.ts'
import { attempt } from '../../base/errors.ts'

export const SESSION_ID_BYTES = 16

export interface NewCookie {
  /** Without a colon. */
  readonly name: string
  readonly issuedAt: number
  readonly id: Uint8Array
}

export interface CookieKey {
  readonly secret: Uint8Array
  readonly salt: string
  /** As `node:crypto` names it. */
  readonly algorithm: string
}

export function mintCookie({ name, issuedAt, id }: NewCookie, key: CookieKey): string {
  if (name.includes(':')) throw new TypeError('a name with a colon has no cookie')
  if (id.byteLength !== SESSION_ID_BYTES) throw new TypeError(`a session id has ${SESSION_ID_BYTES} bytes`)
  const signed = Buffer.concat([Buffer.from(`${name}:${renderTime(issuedAt)}:`), id])
  return toBase64Url(Buffer.concat([signed, macOf(signed, key)]))
}

export const renderTime = (seconds: number): string => Math.floor(seconds).toString(16).toUpperCase()

export const macOf = (signed: Uint8Array, { secret, salt, algorithm }: CookieKey): Buffer =>
  createHmac(algorithm, Buffer.concat([secret, Buffer.from(salt)]))
    .update(signed)
    .digest()

/** A well-formed cookie that has not been verified. The name says whose salt to verify it with. */
export interface ReadCookie {
  readonly name: string
  readonly time: string
  /** `name ":" T` */
  readonly head: Buffer
  /** The bytes after the second colon. */
  readonly tail: Buffer
}

const COLON = 0x3a

/** `undefined`: malformed. */
export function readCookie(text: string): ReadCookie | undefined {
  const bytes = text.length > MAX_CHARACTERS ? undefined : readBase64Url(text)
  const first = bytes?.indexOf(COLON) ?? -1
  const second = first < 0 ? -1 : (bytes?.indexOf(COLON, first + 1) ?? -1)
  if (bytes === undefined || second < 0) return undefined
  const name = readUtf8(bytes.subarray(0, first))
  if (name === undefined) return undefined
  const time = bytes.toString('latin1', first + 1, second)
  return { name, time, head: bytes.subarray(0, second), tail: bytes.subarray(second + 1) }
}

/** RFC 6265 6.1: clients need not support longer cookies. */
const MAX_CHARACTERS = 4096

export interface SignatureRules {
  /** An empty list verifies nothing. */
  readonly secrets: readonly Uint8Array[]
  /** The salt of the user the cookie names. */
  readonly salt: string
  /** As `node:crypto` names them. */
  readonly algorithms: readonly string[]
}

export interface CookieRules extends SignatureRules {
  readonly nowSeconds: number
  readonly timeoutSeconds: number
}

/** How the value of a session cookie is signed and verified. */
export interface SigningSettings {
  /** Seconds since the last request after which a session expires. */
  readonly timeoutSeconds: number
  /** Seconds after the sign-in at which a session ends; 0: never. */
  readonly maxLifetimeSeconds: number
  /** Names of `node:crypto`; the first signs, all verify. Never empty. */
  readonly algorithms: readonly [string, ...string[]]
}

export interface VerifiedCookie {
  readonly kind: 'verified'
  readonly name: string
  readonly issuedAt: number
  /** `undefined`: CouchDB's form. */
  readonly id: Buffer | undefined
}

export type CookieVerdict = VerifiedCookie | { readonly kind: 'not_verified' } | { readonly kind: 'expired' }

/** `expired` is returned only for a cookie whose signature is right. */
export function verifyCookie(cookie: ReadCookie, rules: CookieRules): CookieVerdict {
  const issuedAt = readCookieTime(cookie.time)
  const algorithm = rules.algorithms.find((each) => issuedAt !== undefined && isSignedWith(cookie, each, rules))
  if (issuedAt === undefined || algorithm === undefined) return { kind: 'not_verified' }
  if (rules.nowSeconds >= issuedAt + rules.timeoutSeconds) return { kind: 'expired' }
  return { kind: 'verified', name: cookie.name, issuedAt, id: findId(cookie, algorithm) }
}

/** Whether the time in a cookie, which may be forged, is one of a cookie that is valid now. */
export function isTimeCurrent(
  time: string,
  { nowSeconds, timeoutSeconds }: Pick<CookieRules, 'nowSeconds' | 'timeoutSeconds'>,
): boolean {
  const issuedAt = readCookieTime(time)
  return issuedAt !== undefined && nowSeconds < issuedAt + timeoutSeconds
}

/** CouchDB reads upper and lower case and a sign. More digits than a time needs are rejected. */
export const readCookieTime = (text: string): number | undefined =>
  /^[+-]?[0-9A-Fa-f]{1,12}$/.test(text) ? Number.parseInt(text, 16) : undefined

/** The length of the digest must fit one of the two forms. */
function isSignedWith(cookie: ReadCookie, algorithm: string, rules: SignatureRules): boolean {
  const idBytes = idBytesOf(cookie, algorithm)
  if (idBytes !== 0 && idBytes !== SESSION_ID_BYTES) return false
  const id = findId(cookie, algorithm)
  const signed = id === undefined ? cookie.head : Buffer.concat([cookie.head, Buffer.from(':'), id])
  return isMacOf(cookie.tail.subarray(idBytes), signed, algorithm, rules)
}

/** Whether one of the secrets has made the MAC. */
export const isMacOf = (
  mac: Uint8Array,
  signed: Uint8Array,
  algorithm: string,
  { secrets, salt }: Pick<SignatureRules, 'secrets' | 'salt'>,
): boolean =>
  secrets.some((secret) => secret.byteLength > 0 && isSameSecret(macOf(signed, { secret, salt, algorithm }), mac))

const idBytesOf = ({ tail }: ReadCookie, algorithm: string): number =>
  tail.length - (digestBytesOf(algorithm) ?? Number.NaN)

/** `undefined`: CouchDB's form. */
function findId(cookie: ReadCookie, algorithm: string): Buffer | undefined {
  const bytes = idBytesOf(cookie, algorithm)
  return bytes === 0 ? undefined : cookie.tail.subarray(0, bytes)
}

const DIGEST_BYTES = new Map<string, number | undefined>()

/** `undefined`: OpenSSL on this machine does not have the algorithm. Names come from the configuration only. */
export function digestBytesOf(algorithm: string): number | undefined {
  if (!DIGEST_BYTES.has(algorithm)) DIGEST_BYTES.set(algorithm, measureDigest(algorithm))
  return DIGEST_BYTES.get(algorithm)
}

const measureDigest = (algorithm: string): number | undefined => attempt(() => createHash(algorithm).digest().length)

/** Whether more than a tenth of the cookie's lifetime is over. */
export const isRenewalDue = (issuedAt: number, nowSeconds: number, timeoutSeconds: number): boolean =>
  issuedAt + timeoutSeconds - nowSeconds < 0.9 * timeoutSeconds
