import { createPublicKey } from 'node:crypto'
import { readBase64Url } from '../base/encoding.ts'
import { attempt } from '../base/errors.ts'
import { findMember, isJsonObject, type Members, readJson } from '../base/json.ts'
import { ALGORITHMS, CURVES } from './algorithms.ts'
import {
  createHmacKey,
  isKeyFor,
  type KeyNames,
  type KeyProblem,
  toKeyProblem,
  toVerificationKey,
  type VerificationKey,
} from './key.ts'

export interface JwkTrust {
  /** Whether secrets (`oct`) are accepted: only in a set that the configuration names. */
  readonly secrets: boolean
}

type ReadKind = (jwk: Members, names: KeyNames, trust: JwkTrust) => VerificationKey | KeyProblem

const KINDS: ReadonlyMap<unknown, ReadKind> = new Map<unknown, ReadKind>([
  ['RSA', (jwk, names) => readPublic({ kty: 'RSA', ...pick(jwk, ['n', 'e']) }, names)],
  ['EC', (jwk, names) => readOnCurve(jwk, 'ec', names)],
  ['OKP', (jwk, names) => readOnCurve(jwk, 'eddsa', names)],
  ['oct', readSecret],
])

/** Reads a JSON Web Key for verifying. Respects `use`, `key_ops` and `alg`. */
export function readJwk(value: unknown, trust: JwkTrust = { secrets: false }): VerificationKey | KeyProblem {
  if (!isJsonObject(value)) return toKeyProblem('invalid')
  const names = readNames(value)
  const readKind = KINDS.get(findMember(value, 'kty'))
  if (names === undefined || readKind === undefined) return toKeyProblem('invalid')
  if (!isForVerifying(value)) return toKeyProblem('foreign_use')
  if (Object.hasOwn(value, 'd')) return toKeyProblem('private_key')
  const key = readKind(value, names, trust)
  return key.kind === 'problem' || isBoundRight(key) ? key : toKeyProblem('wrong_algorithm')
}

function readNames(jwk: Members): KeyNames | undefined {
  const [alg, kid, issuer] = ['alg', 'kid', 'issuer'].map((name) => findMember(jwk, name))
  if (!isTextOrAbsent(alg) || !isTextOrAbsent(kid) || !isTextOrAbsent(issuer)) return undefined
  const hasIssuer = issuer !== undefined
  return { ...(alg !== undefined && { alg }), ...(kid !== undefined && { kid }), ...(hasIssuer && { issuer }) }
}

const isTextOrAbsent = (value: unknown): value is string | undefined => value === undefined || typeof value === 'string'

function isForVerifying(jwk: Members): boolean {
  const [use, operations] = [findMember(jwk, 'use'), findMember(jwk, 'key_ops')]
  if (use !== undefined && use !== 'sig') return false
  return operations === undefined || (Array.isArray(operations) && operations.includes('verify'))
}

/** A key with an unknown `alg` would verify no token: reported when it is read. */
function isBoundRight(key: VerificationKey): boolean {
  if (key.alg === undefined) return true
  const algorithm = ALGORITHMS.get(key.alg)
  return algorithm !== undefined && isKeyFor(key, algorithm)
}

function readOnCurve(jwk: Members, kind: 'ec' | 'eddsa', names: KeyNames): VerificationKey | KeyProblem {
  const curve = findMember(jwk, 'crv')
  const row = typeof curve === 'string' ? CURVES.get(curve) : undefined
  if (row?.kind !== kind) return toKeyProblem('unknown_curve')
  const coordinates = pick(jwk, kind === 'ec' ? ['x', 'y'] : ['x'])
  // RFC 7518 6.2.1.2: the full length of the curve, with leading zeros
  const isWhole = Object.values(coordinates).every((text) => readBase64Url(text)?.length === row.coordinateBytes)
  if (!isWhole) return toKeyProblem('invalid')
  return readPublic({ kty: kind === 'ec' ? 'EC' : 'OKP', crv: row.curve, ...coordinates }, names)
}

function readPublic(jwk: Record<string, string>, names: KeyNames): VerificationKey | KeyProblem {
  const key = attempt(() => createPublicKey({ key: jwk, format: 'jwk' }))
  return key === undefined ? toKeyProblem('invalid') : toVerificationKey(key, names)
}

/** Members in canonical base64url. Anything else becomes the empty text, which `node:crypto` rejects. */
const pick = (jwk: Members, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, readText(findMember(jwk, name))]))

const readText = (value: unknown): string =>
  typeof value === 'string' && readBase64Url(value) !== undefined ? value : ''

function readSecret(jwk: Members, names: KeyNames, trust: JwkTrust): VerificationKey | KeyProblem {
  if (!trust.secrets) return toKeyProblem('secret_not_allowed')
  const algorithm = ALGORITHMS.get(names.alg ?? '')
  if (algorithm?.macBytes === undefined) return toKeyProblem('wrong_algorithm')
  const text = findMember(jwk, 'k')
  const secret = typeof text === 'string' ? readBase64Url(text) : undefined
  if (secret === undefined) return toKeyProblem('invalid')
  return secret.length < algorithm.macBytes ? toKeyProblem('short_secret') : createHmacKey(secret, names)
}

export interface JwkSet {
  readonly kind: 'set'
  readonly keys: readonly VerificationKey[]
  /** Keys for encryption or of an unknown kind are ignored (RFC 7517 5). */
  readonly ignored: readonly { readonly index: number; readonly problem: KeyProblem }[]
}

export type JwkSetProblem = { readonly kind: 'problem'; readonly reason: string }

const MAX_SET_CHARACTERS = 1_048_576
const MAX_KEYS = 100

/**
 * Reads a JSON Web Key Set. The whole set is rejected if two keys have the same `kid`, if it mixes secrets and public
 * keys, or if it has a private key: every reader of the set knows that key.
 */
export function readJwkSet(text: string, trust: JwkTrust = { secrets: false }): JwkSet | JwkSetProblem {
  const members = findMembers(text)
  if (members === undefined) return toJwkSetProblem('not a JSON Web Key Set')
  if (members.length > MAX_KEYS) return toJwkSetProblem(`more than ${MAX_KEYS} keys`)
  const read = members.map((member) => readJwk(member, trust))
  const keys = read.filter((key) => key.kind !== 'problem')
  const ignored = read.flatMap((problem, index) => (problem.kind === 'problem' ? [{ index, problem }] : []))
  const reason = checkSet(keys, ignored) ?? checkNames(members, ignored)
  return reason === undefined ? { kind: 'set', keys, ignored } : toJwkSetProblem(reason)
}

const toJwkSetProblem = (reason: string): JwkSetProblem => ({ kind: 'problem', reason })

function findMembers(text: string): readonly unknown[] | undefined {
  const reading = text.length > MAX_SET_CHARACTERS ? undefined : readJson(text, { noDuplicates: true })
  if (reading?.kind !== 'json' || !isJsonObject(reading.value)) return undefined
  const members = findMember(reading.value, 'keys')
  return Array.isArray(members) ? members : undefined
}

function checkSet(keys: readonly VerificationKey[], ignored: JwkSet['ignored']): string | undefined {
  if (ignored.some(({ problem }) => problem.code === 'private_key')) return 'the set holds a private key'
  if (keys.length === 0) return 'the set has no key to verify with'
  const secrets = keys.filter(({ kind }) => kind === 'hmac').length
  return secrets > 0 && secrets < keys.length ? 'the set mixes secrets and public keys' : undefined
}

/** A key that cannot be used still takes its `kid`: it is unclear which of the two the author meant. */
function checkNames(members: readonly unknown[], ignored: JwkSet['ignored']): string | undefined {
  const foreign = new Set(ignored.filter(({ problem }) => problem.code === 'foreign_use').map(({ index }) => index))
  const own = members.filter((_, index) => !foreign.has(index)).filter(isJsonObject)
  const names = own.map((member) => findMember(member, 'kid'))
  return new Set(names).size < names.length ? 'two keys of the set have the same kid' : undefined
}
