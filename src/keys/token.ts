/**
 * JSON Web Tokens in compact form. A text from outside enters, claims leave, and only after the signature was
 * checked under a key of the very kind the algorithm is for. Nothing in a header chooses a key but `alg` and `kid`:
 * `jwk`, `jku`, `x5u` and `x5c` are never looked at.
 */
import { constants, createHmac, verify as verifySignature } from 'node:crypto'
import { isSameSecret } from '../base/compare.ts'
import { readUtf8 } from '../base/encoding.ts'
import { findMember, isJsonObject, readJson } from '../base/json.ts'
import { ALGORITHMS, type Algorithm } from './algorithms.ts'
import { readBase64Url, toBase64Url } from './base64url.ts'
import { attempt, isKeyFor, type KeyProblem, signatureBytesOf, type VerificationKey } from './key.ts'
import type { SigningKey } from './signing-key.ts'

export type Claims = Readonly<Record<string, unknown>>

export type TokenFlaw = 'malformed' | 'not_an_object' | 'missing_alg' | 'invalid_alg' | 'crit'

export type TokenReason =
  | TokenFlaw
  | 'invalid_typ'
  | 'unknown_kid'
  | 'invalid_kid'
  | 'bad_key'
  | 'bad_mac'
  | 'bad_signature'

/** What of a header is used. `typ` and `kid` are as they came: each door has its own rule for them. */
export interface TokenHeader {
  readonly algorithm: Algorithm
  readonly typ: unknown
  readonly kid: unknown
}

/** A signed text whose payload may be anything. */
export interface SignedText {
  readonly kind: 'signed'
  readonly header: TokenHeader
  readonly signed: string
  readonly payload: Buffer
  readonly signature: Buffer
}

export interface Refused<R> {
  readonly kind: 'refused'
  readonly reason: R
}

const refuse = <R>(reason: R): Refused<R> => ({ kind: 'refused', reason })

/** Longer texts are no tokens: a header line has to hold them. */
export const MAX_TOKEN_CHARACTERS = 65_536

/** Reads `header.payload.signature`. The signature has not been checked. */
export function readSignedText(text: string): SignedText | Refused<TokenFlaw> {
  const parts = text.length > MAX_TOKEN_CHARACTERS ? [] : text.split('.', 4)
  const [headerBytes, payload, signature] = parts.map(readBase64Url)
  if (parts.length !== 3 || !headerBytes || !payload || !signature) return refuse('malformed')
  const header = readHeader(headerBytes)
  if (header.kind === 'refused') return header
  return { kind: 'signed', header: header.value, signed: text.slice(0, text.lastIndexOf('.')), payload, signature }
}

type ObjectReading = { readonly kind: 'object'; readonly value: Claims } | Refused<'malformed' | 'not_an_object'>

function readObject(bytes: Uint8Array): ObjectReading {
  const text = readUtf8(bytes)
  const reading = text === undefined ? undefined : readJson(text, { noDuplicates: true })
  if (reading?.kind !== 'json') return refuse('malformed')
  return isJsonObject(reading.value) ? { kind: 'object', value: reading.value } : refuse('not_an_object')
}

function readHeader(bytes: Uint8Array): { readonly kind: 'header'; readonly value: TokenHeader } | Refused<TokenFlaw> {
  const header = readObject(bytes)
  if (header.kind === 'refused') return header
  const alg = findMember(header.value, 'alg')
  if (alg === undefined) return refuse('missing_alg')
  const algorithm = typeof alg === 'string' ? ALGORITHMS.get(alg) : undefined
  if (algorithm === undefined) return refuse('invalid_alg')
  // RFC 7515 4.1.11: what is named there must be understood, and no extension is
  if (Object.hasOwn(header.value, 'crit')) return refuse('crit')
  const value = { algorithm, typ: findMember(header.value, 'typ'), kid: findMember(header.value, 'kid') }
  return { kind: 'header', value }
}

/** Whether the signature holds. A key that is not for the token's algorithm verifies nothing. */
export function isSignedBy(text: SignedText, key: VerificationKey, algorithm: Algorithm): boolean {
  if (text.header.algorithm !== algorithm || !isKeyFor(key, algorithm)) return false
  if (text.signature.length !== signatureBytesOf(key, algorithm)) return false
  return key.kind === 'hmac' ? isMacOf(text, key, algorithm) : isSignatureOf(text, key, algorithm)
}

// the signed part is base64url and dots: one byte a character
const macOf = (signed: string, key: VerificationKey, digest: string): Buffer =>
  createHmac(digest, key.key).update(signed, 'latin1').digest()

const isMacOf = ({ signed, signature }: SignedText, key: VerificationKey, { digest }: Algorithm): boolean =>
  digest !== null && isSameSecret(macOf(signed, key, digest), signature)

function isSignatureOf({ signed, signature }: SignedText, { key }: VerificationKey, algorithm: Algorithm): boolean {
  const { digest, isPss } = algorithm
  const pss = isPss && { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
  const options = { key, dsaEncoding: 'ieee-p1363', ...pss } as const
  return attempt(() => verifySignature(digest, Buffer.from(signed, 'latin1'), options, signature)) === true
}

/** A token whose form is right. It keeps its claims until a key shows that they were signed. */
class Token {
  readonly kind = 'token'
  readonly header: TokenHeader
  readonly #text: SignedText
  readonly #claims: Claims

  constructor(text: SignedText, claims: Claims) {
    this.header = text.header
    this.#text = text
    this.#claims = claims
  }

  /** The claims, or `undefined` where this key did not sign them. */
  openWith(key: VerificationKey, algorithm: Algorithm): Claims | undefined {
    return isSignedBy(this.#text, key, algorithm) ? this.#claims : undefined
  }
}

/** Reads a token: header and payload are JSON objects in UTF-8 that name no member twice. */
export function readToken(text: string): Token | Refused<TokenFlaw> {
  const signed = readSignedText(text)
  if (signed.kind === 'refused') return signed
  const payload = readObject(signed.payload)
  return payload.kind === 'refused' ? payload : new Token(signed, payload.value)
}

export const verifyToken = (token: Token, key: VerificationKey, algorithm: Algorithm): Claims | undefined =>
  token.openWith(key, algorithm)

export type FoundKeys =
  | { readonly kind: 'keys'; readonly keys: readonly VerificationKey[] }
  | (Refused<'unknown_kid' | 'invalid_kid' | 'bad_key' | 'invalid_alg'> & { readonly problem?: KeyProblem })

export interface TokenRules {
  /** The values `typ` may have; `undefined` among them lets it be absent. */
  readonly types: readonly (string | undefined)[]
  readonly findKeys: (algorithm: Algorithm, header: TokenHeader) => FoundKeys
}

export interface VerifiedToken {
  readonly kind: 'verified'
  readonly claims: Claims
  readonly header: TokenHeader
  readonly key: VerificationKey
}

export type RefusedToken = Refused<TokenReason> & { readonly problem?: KeyProblem }

/** The whole way from a text to claims that can be believed. Whether they suffice is for the door's own rules. */
export function verify(text: string, rules: TokenRules): VerifiedToken | RefusedToken {
  const token = readToken(text)
  if (token.kind === 'refused') return token
  const { header } = token
  if (!rules.types.some((type) => type === header.typ)) return refuse('invalid_typ')
  const found = rules.findKeys(header.algorithm, header)
  return found.kind === 'refused' ? found : openWithAny(token, found.keys)
}

function openWithAny(token: Token, keys: readonly VerificationKey[]): VerifiedToken | RefusedToken {
  const { header } = token
  for (const key of keys) {
    const claims = verifyToken(token, key, header.algorithm)
    if (claims) return { kind: 'verified', claims, header, key }
  }
  return refuse(header.algorithm.kind === 'hmac' ? 'bad_mac' : 'bad_signature')
}

/** Members of a header beside `alg`, which the key decides. */
export interface NewHeader {
  readonly typ?: string
  readonly kid?: string
}

/** Signs claims as they are, members in their order. */
export function signToken(header: NewHeader, claims: Claims, key: SigningKey): string {
  const head = toBase64Url(JSON.stringify({ alg: key.alg, ...header }))
  const signed = `${head}.${toBase64Url(JSON.stringify(claims))}`
  return `${signed}.${toBase64Url(key.sign(Buffer.from(signed, 'latin1')))}`
}
