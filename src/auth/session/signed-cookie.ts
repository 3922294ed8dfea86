/**
 * The value of the AuthSession cookie, made and read side by side so that they cannot drift. Two forms are read:
 *
 *     name ":" T ":" MAC(name ":" T)                classic: no session id
 *     name ":" T ":" id MAC(name ":" T ":" id)      ours: 16 bytes of session id
 *
 * T is Unix seconds in hexadecimal, the key of the MAC is the secret followed by the user's salt. What one form
 * signs has one colon, what the other signs has two or more, so neither can be taken for the other.
 */
import { createHash, createHmac } from 'node:crypto'
import { isSameSecret } from '../../base/compare.ts'
import { readUtf8 } from '../../base/encoding.ts'
import { readBase64Url, toBase64Url } from '../../keys/base64url.ts'

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

const renderTime = (seconds: number): string => Math.floor(seconds).toString(16).toUpperCase()

const macOf = (signed: Uint8Array, { secret, salt, algorithm }: CookieKey): Buffer =>
  createHmac(algorithm, Buffer.concat([secret, Buffer.from(salt)]))
    .update(signed)
    .digest()

/** A cookie whose form is right. Nothing it says has been checked: the name only tells whose salt to check it with. */
export interface ReadCookie {
  /** As it came. */
  readonly text: string
  readonly name: string
  readonly time: string
  /** `name ":" T`, as it came. */
  readonly head: Buffer
  /** What follows the second colon. */
  readonly tail: Buffer
}

const COLON = 0x3a

/** `undefined`: malformed. */
export function readCookie(value: string): ReadCookie | undefined {
  const bytes = value.length > MAX_CHARACTERS ? undefined : readBase64Url(value)
  const first = bytes?.indexOf(COLON) ?? -1
  const second = first < 0 ? -1 : (bytes?.indexOf(COLON, first + 1) ?? -1)
  if (bytes === undefined || second < 0) return undefined
  const name = readUtf8(bytes.subarray(0, first))
  if (name === undefined) return undefined
  const time = bytes.toString('latin1', first + 1, second)
  return { text: value, name, time, head: bytes.subarray(0, second), tail: bytes.subarray(second + 1) }
}

/** RFC 6265 6.1 asks clients for no more than this. */
const MAX_CHARACTERS = 4096

export interface CookieRules {
  /** All that are in force; none verifies nothing. */
  readonly secrets: readonly Uint8Array[]
  /** The salt of the user the cookie names. */
  readonly salt: string
  /** As `node:crypto` names them. */
  readonly algorithms: readonly string[]
  readonly nowSeconds: number
  readonly timeoutSeconds: number
}

export interface VerifiedCookie extends Form {
  readonly kind: 'verified'
  readonly name: string
  readonly issuedAt: number
}

/** How a cookie is genuine. */
interface Form {
  /** `undefined`: a classic cookie. */
  readonly id: Buffer | undefined
  readonly secret: Uint8Array
  readonly algorithm: string
}

export type CookieVerdict = VerifiedCookie | { readonly kind: 'not_verified' } | { readonly kind: 'expired' }

/** `expired` is said only of a cookie that is genuine. */
export function verifyCookie(cookie: ReadCookie, rules: CookieRules): CookieVerdict {
  const issuedAt = readTime(cookie.time)
  const form = issuedAt === undefined ? undefined : findForm(cookie, rules)
  if (issuedAt === undefined || form === undefined) return { kind: 'not_verified' }
  if (rules.nowSeconds >= issuedAt + rules.timeoutSeconds) return { kind: 'expired' }
  return { kind: 'verified', name: cookie.name, issuedAt, ...form }
}

/** Upper or lower case and a sign are read, as the document database does; more digits than a time needs are not. */
const readTime = (text: string): number | undefined =>
  /^[+-]?[0-9A-Fa-f]{1,12}$/.test(text) ? Number.parseInt(text, 16) : undefined

/** Tries both forms under every algorithm whose digest has the length that is left for it, and every secret. */
function findForm({ head, tail }: ReadCookie, { secrets, salt, algorithms }: CookieRules): Form | undefined {
  for (const algorithm of algorithms) {
    const idBytes = tail.length - (digestBytesOf(algorithm) ?? Number.NaN)
    if (idBytes !== 0 && idBytes !== SESSION_ID_BYTES) continue
    const id = idBytes === 0 ? undefined : tail.subarray(0, idBytes)
    const signed = id === undefined ? head : Buffer.concat([head, Buffer.from(':'), id])
    const mac = tail.subarray(idBytes)
    const secret = secrets.find(
      (each) => each.byteLength > 0 && isSameSecret(macOf(signed, { secret: each, salt, algorithm }), mac),
    )
    if (secret) return { id, secret, algorithm }
  }
  return undefined
}

const DIGEST_BYTES = new Map<string, number | undefined>()

/** Length of a digest; `undefined` where this machine does not offer it. Names come from the configuration only. */
export function digestBytesOf(algorithm: string): number | undefined {
  if (!DIGEST_BYTES.has(algorithm)) DIGEST_BYTES.set(algorithm, measureDigest(algorithm))
  return DIGEST_BYTES.get(algorithm)
}

function measureDigest(algorithm: string): number | undefined {
  try {
    return createHash(algorithm).digest().length
  } catch {
    return undefined
  }
}

/** Whether a verified cookie is old enough to be replaced by a fresh one: more than a tenth of its life is over. */
export const isRenewalDue = (issuedAt: number, nowSeconds: number, timeoutSeconds: number): boolean =>
  issuedAt + timeoutSeconds - nowSeconds < 0.9 * timeoutSeconds

export interface ProxyTokenRules {
  readonly secrets: readonly Uint8Array[]
  readonly algorithms: readonly string[]
}

export const mintProxyToken = (name: string | Uint8Array, { secret, algorithm }: Omit<CookieKey, 'salt'>): string =>
  createHmac(algorithm, secret).update(name).digest('hex')

/** Whether `token` is the hexadecimal HMAC of the user's name under a secret and algorithm in force. */
export function isProxyToken(token: string, name: string | Uint8Array, rules: ProxyTokenRules): boolean {
  if (!/^(?:[0-9A-Fa-f]{2}){1,64}$/.test(token)) return false
  const mac = Buffer.from(token, 'hex')
  const secrets = rules.secrets.filter(({ byteLength }) => byteLength > 0)
  return rules.algorithms
    .filter((algorithm) => digestBytesOf(algorithm) === mac.length)
    .some((algorithm) =>
      secrets.some((secret) => isSameSecret(createHmac(algorithm, secret).update(name).digest(), mac)),
    )
}
