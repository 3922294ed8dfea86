import { readBase64 } from '../base/encoding.ts'
import { ALGORITHMS, type Algorithm } from './algorithms.ts'
import type { ClaimRules } from './document-claims.ts'
import { readJwkSet } from './jwk.ts'
import {
  createHmacKey,
  isKeyFor,
  type KeyProblem,
  readPublicPem,
  toKeyProblem,
  type VerificationKey,
  versionOf,
} from './key.ts'
import type { KeyLimits } from './key-limits.ts'
import type { FoundKeys, TokenHeader } from './verify.ts'

/** One line of `[jwt_keys]`: `<kind>:<kid>` and its text. */
export interface JwtKeyEntry {
  readonly key: string
  readonly text: string
}

/** The `kid` of a token without one. */
const DEFAULT_KID = '_default'

type Found = VerificationKey | KeyProblem
type ReadEntry = (text: string, kid: string) => Found

const READERS: ReadonlyMap<string, ReadEntry> = new Map<string, ReadEntry>([
  ['hmac', readHmac],
  ['rsa', (text, kid) => readPublicPem(text, 'rsa', { kid })],
  ['ec', (text, kid) => readPublicPem(text, 'ec', { kid })],
  ['eddsa', (text, kid) => readPublicPem(text, 'eddsa', { kid })],
])

function readHmac(text: string, kid: string): Found {
  const secret = readBase64(text)
  return secret === undefined ? toKeyProblem('invalid') : createHmacKey(secret, { kid })
}

export type JwtKeys = ReturnType<typeof readJwtKeys>

/**
 * The keys of `[jwt_keys]`. An invalid line is kept as a problem: a token that names it is rejected with the reason, and
 * the other keys still verify. A key on its own line wins over one of the same name in a set.
 */
export function readJwtKeys(entries: readonly JwtKeyEntry[], limits: ReadonlyMap<string, KeyLimits> = new Map()) {
  const problems: Problems = []
  const byName = new Map<string, Found>()
  const lines = entries.filter(({ key }) => !key.startsWith(SET))
  for (const entry of lines) addLine(entry, byName, problems)
  for (const entry of entries) if (entry.key.startsWith(SET)) addSet(entry, byName, problems)
  for (const [name, each] of limits) addLimits(name, each, byName)
  return Object.freeze({
    /** Changes with any key: part of the key of token caches. */
    version: toVersion(byName),
    /** Invalid lines, and ignored keys of a set. Holds no secret. */
    problems,
    /** Names of limits that no key has, which may be misspelt: then a key is without its limits. */
    strayLimits: [...limits.keys()].filter((name) => !byName.has(name)),
    /** Every key by its name. */
    keys: [...byName].flatMap(([name, found]) => (found.kind === 'problem' ? [] : [[name, found] as const])),
    /** The key a token asks for by its algorithm and `kid`. */
    find: (algorithm: Algorithm, header: TokenHeader): FoundKeys => findIn(byName, algorithm, header),
  })
}

const SET = 'jwks:'

type Problems = { name: string; reason: string }[]

function addLine({ key, text }: JwtKeyEntry, byName: Map<string, Found>, problems: Problems): void {
  const colon = key.indexOf(':')
  const read = READERS.get(key.slice(0, Math.max(colon, 0)))
  if (read === undefined) {
    problems.push({ name: key, reason: 'expected hmac:, rsa:, ec:, eddsa: or jwks: before the name' })
    return
  }
  const found = read(text, key.slice(colon + 1))
  if (found.kind === 'problem') problems.push({ name: key, reason: found.reason })
  byName.set(key, found)
}

function addSet({ key, text }: JwtKeyEntry, byName: Map<string, Found>, problems: Problems): void {
  const set = readJwkSet(text, { secrets: true })
  if (set.kind === 'problem') {
    problems.push({ name: key, reason: set.reason })
    return
  }
  for (const { index, problem } of set.ignored) problems.push({ name: key, reason: `key ${index}: ${problem.reason}` })
  for (const found of set.keys) {
    const name = `${found.kind}:${found.kid ?? DEFAULT_KID}`
    if (byName.has(name)) problems.push({ name: key, reason: `another key is already named ${name}` })
    else byName.set(name, found)
  }
}

/** The limits are part of the version of a key: a session that was opened under others ends. */
function addLimits(name: string, limits: KeyLimits, byName: Map<string, Found>): void {
  const found = byName.get(name)
  if (found && found.kind !== 'problem')
    byName.set(name, Object.freeze({ ...found, limits, version: versionOf([found.version, JSON.stringify(limits)]) }))
}

function findIn(byName: ReadonlyMap<string, Found>, algorithm: Algorithm, { kid }: TokenHeader): FoundKeys {
  if (kid !== undefined && typeof kid !== 'string') return { kind: 'refused', reason: 'invalid_kid' }
  const found = byName.get(`${algorithm.kind}:${kid ?? DEFAULT_KID}`)
  if (found === undefined) return { kind: 'refused', reason: 'unknown_kid' }
  if (found.kind === 'problem') return { kind: 'refused', reason: 'bad_key', problem: found }
  return isKeyFor(found, algorithm)
    ? { kind: 'keys', keys: [found] }
    : { kind: 'refused', reason: 'bad_key', problem: toKeyProblem('wrong_algorithm') }
}

function toVersion(byName: ReadonlyMap<string, Found>): string {
  const sorted = [...byName].sort(([a], [b]) => (a < b ? -1 : 1))
  return versionOf(sorted.flatMap(([name, found]) => [name, found.kind === 'problem' ? found.code : found.version]))
}

/** What the session of a token depends on: the key that verified it, and the rules that read its claims. */
export const toOriginVersion = ({ version }: VerificationKey, { required, roles }: ClaimRules): string =>
  versionOf([version, JSON.stringify([required, roles])])

/** The version of the current key for an algorithm and a `kid`, with the current rules. */
export function findOriginVersion(keys: JwtKeys, rules: ClaimRules, name: string, kid: string | undefined) {
  const algorithm = ALGORITHMS.get(name)
  const found = algorithm && keys.find(algorithm, { algorithm, typ: undefined, kid })
  const key = found?.kind === 'keys' ? found.keys[0] : undefined
  return key && toOriginVersion(key, rules)
}
