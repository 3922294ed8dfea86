import { refuse } from './codecs.ts'
import type { Codec } from './option.ts'

/** A claim every token must have; with a value, one that must be equal to it. */
export interface RequiredClaim {
  readonly name: string
  readonly value?: string
}

const CLAIM = /^\s*(?:([\w.:/-]+)|\{\s*"?([\w.:/-]+)"?\s*,\s*"([^"]+)"\s*\})\s*(?:,|$)/
const CLAIMS = 'claim names and {name, "value"} pairs separated by commas'

/** `exp, nbf, {iss, "https://issuer"}`. */
export const requiredClaims: Codec<readonly RequiredClaim[]> = {
  expects: CLAIMS,
  parse: (value) => {
    const claims: RequiredClaim[] = []
    for (let rest = value.trim(); rest !== ''; ) {
      const [taken, bare, name = '', wanted = ''] = CLAIM.exec(rest) ?? refuse(CLAIMS)
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

const HANDLER_LIST = `${HANDLERS.join(', ')}, each at most once, in the order they are asked`
const TUPLE = /\{\s*\w+\s*,\s*([a-z]+)_authentication_handler\s*\}/g

/**
 * Names in order, or the tuples the document database writes. `null_authentication_handler`, which makes everyone an
 * administrator there, is not among them.
 */
export const handlers: Codec<readonly HandlerName[]> = {
  expects: HANDLER_LIST,
  parse: (value) => {
    const names = value
      .replace(TUPLE, '$1')
      .split(',')
      .map((item) => HANDLERS.find((name) => name === item.trim()) ?? refuse(HANDLER_LIST))
    return new Set(names).size === names.length ? Object.freeze(names) : refuse(HANDLER_LIST)
  },
  print: (names) => names.join(', '),
}
