import { createHmac } from 'node:crypto'
import { attempt } from '../base/errors.ts'
import { type Codec, itemsOf, refuseValue } from './codecs.ts'

/** A claim every token must have, with this value if one is given. */
export interface RequiredClaimOption {
  readonly name: string
  readonly value?: string
}

const CLAIM = /^\s*(?:([\w.:/-]+)|\{\s*"?([\w.:/-]+)"?\s*,\s*"([^"]+)"\s*\})\s*(?:,|$)/
const CLAIMS = 'claim names and {name, "value"} pairs separated by commas'

/** `exp, nbf, {iss, "https://issuer"}`. */
export const requiredClaims: Codec<readonly RequiredClaimOption[]> = {
  expects: CLAIMS,
  parse: (value) => {
    const claims: RequiredClaimOption[] = []
    for (let rest = value.trim(); rest !== ''; ) {
      const [taken, bare, name = '', wanted = ''] = CLAIM.exec(rest) ?? refuseValue(CLAIMS)
      claims.push(Object.freeze(bare === undefined ? { name, value: wanted } : { name: bare }))
      rest = rest.slice(taken.length)
    }
    return Object.freeze(claims)
  },
  print: (claims) => claims.map(({ name, value }) => (value === undefined ? name : `{${name}, "${value}"}`)).join(', '),
  isList: true,
}

const HANDLERS = ['jwt', 'proxy', 'cookie', 'default'] as const
export type HandlerName = (typeof HANDLERS)[number]

const HANDLER_LIST = `${HANDLERS.join(', ')}, each at most once, in order`
const TUPLE = /\{\s*\w+\s*,\s*([a-z]+)_authentication_handler\s*\}/g

/**
 * Names in order, or the tuples of CouchDB. `null_authentication_handler`, which makes every client an administrator
 * there, is not accepted.
 */
export const handlers: Codec<readonly HandlerName[]> = {
  expects: HANDLER_LIST,
  parse: (value) => {
    const names = value
      .replace(TUPLE, '$1')
      .split(',')
      .map((item) => HANDLERS.find((name) => name === item.trim()) ?? refuseValue(HANDLER_LIST))
    return new Set(names).size === names.length ? Object.freeze(names) : refuseValue(HANDLER_LIST)
  },
  print: (names) => names.join(', '),
}

/** Digest names of CouchDB, with those of `node:crypto`. */
const DIGESTS: ReadonlyMap<string, string> = new Map([
  ['sha', 'sha1'],
  ...['sha224', 'sha256', 'sha384', 'sha512', 'ripemd160', 'md5', 'md4'].map((name) => [name, name] as const),
  ...['224', '256', '384', '512'].map((bits) => [`sha3_${bits}`, `sha3-${bits}`] as const),
  ['blake2b', 'blake2b512'],
  ['blake2s', 'blake2s256'],
])

const WEAK: ReadonlySet<string> = new Set(['md4', 'md5'])
const DIGEST_LIST = `names of hash algorithms separated by commas, out of ${[...DIGESTS.keys()].join(', ')}`

/** Tries it: OpenSSL may list digests that it does not provide. */
const tryDigest = (name: string): boolean => attempt(() => createHmac(name, 'key').digest()) !== undefined

const AVAILABLE: ReadonlySet<string> = new Set([...DIGESTS].filter(([, name]) => tryDigest(name)).map(([name]) => name))
const isAvailable = (name: string): boolean => AVAILABLE.has(name)

/** The first signs, so it must be available. Others that are not available are skipped. */
function readDigests(value: string): readonly string[] {
  const names = itemsOf(value)
  const [first] = names
  if (first === undefined || !names.every((name) => DIGESTS.has(name))) return refuseValue(DIGEST_LIST)
  if (!isAvailable(first))
    refuseValue(`a first algorithm (it signs) that is available on this machine; ${first} is not`)
  return Object.freeze(names)
}

function warnAboutDigests(names: readonly string[]): string | undefined {
  const missing = names.filter((name) => !isAvailable(name))
  const weak = names.filter((name) => WEAK.has(name) && isAvailable(name))
  const warnings = [
    ...(missing.length > 0 ? [`${missing.join(' and ')}: not available on this machine; skipped`] : []),
    ...(weak.length > 0 ? [`${weak.join(' and ')}: weak`] : []),
  ]
  return warnings.length > 0 ? warnings.join('; ') : undefined
}

export const digests: Codec<readonly string[]> = {
  expects: DIGEST_LIST,
  parse: readDigests,
  print: (items) => items.join(', '),
  isList: true,
  warn: warnAboutDigests,
}

/** The available digests of a list under their names of `node:crypto`, in order; never an empty list. */
export function toDigests(names: readonly string[]): readonly string[] {
  const usable = names.filter(isAvailable).map((name) => DIGESTS.get(name) ?? name)
  return usable.length > 0 ? usable : ['sha256']
}

/** The digests that are available on this machine. */
export const listDigests = (): readonly string[] => [...DIGESTS.keys()].filter(isAvailable)
