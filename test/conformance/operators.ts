import { createHmac, createSign, sign as signRaw } from 'node:crypto'

export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export type JsonObject = { readonly [name: string]: Json }
export type Variables = Map<string, Json>

interface TokenSpec {
  readonly key?: Json
  readonly alg?: string
  readonly claims: Json
  readonly header?: JsonObject
  readonly signature?: string
}

const toBase64Url = (text: string): string => Buffer.from(text).toString('base64url')

function makeToken({ key = '', alg = 'HS256', claims, header = {}, signature }: TokenSpec, vars: Variables): string {
  const members = Object.entries({ typ: 'JWT', alg, ...header }).filter(([, value]) => value !== null)
  const payload = typeof claims === 'string' ? claims : JSON.stringify(fill(claims, vars))
  const input = `${toBase64Url(JSON.stringify(Object.fromEntries(members)))}.${toBase64Url(payload)}`
  return `${input}.${signature ?? signInput(input, String(fill(key, vars)), alg)}`
}

function signInput(input: string, key: string, alg: string): string {
  const digest = `sha${alg.slice(2)}`
  if (alg.startsWith('HS')) return createHmac(digest, key).update(input).digest('base64url')
  if (alg.startsWith('RS')) return createSign(digest).update(input).sign(key, 'base64url')
  if (alg.startsWith('ES')) {
    return createSign(digest).update(input).sign({ key, dsaEncoding: 'ieee-p1363' }, 'base64url')
  }
  if (alg === 'EdDSA') return signRaw(null, Buffer.from(input), key).toString('base64url')
  throw new TypeError(`no signer for ${alg}`)
}

type Operator = (argument: Json, vars: Variables) => Json

const listOf = (argument: Json): readonly Json[] => (Array.isArray(argument) ? argument : [argument])
const textOf = (argument: Json, vars: Variables): string => String(fill(argument, vars))
// the files of cases are our own
const specOf = (argument: Json): TokenSpec => argument as unknown as TokenSpec

export const toBasic = (name: string, password: string): string =>
  `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`

/** An object with one of these as its only member is worked out. */
const OPERATORS: ReadonlyMap<string, Operator> = new Map<string, Operator>([
  ['$var', (name, vars) => vars.get(String(name)) ?? null],
  ['$now', (offset) => Math.floor(Date.now() / 1000) + Number(offset)],
  ['$text', textOf],
  [
    '$cat',
    (parts, vars) =>
      listOf(parts)
        .map((part) => textOf(part, vars))
        .join(''),
  ],
  ['$b64', (text, vars) => Buffer.from(textOf(text, vars)).toString('base64')],
  ['$b64url', (text, vars) => toBase64Url(textOf(text, vars))],
  ['$basic', (pair) => toBasic(String(listOf(pair)[0]), String(listOf(pair)[1]))],
  ['$repeat', (pair) => String(listOf(pair)[0]).repeat(Number(listOf(pair)[1]))],
  [
    '$hmac',
    (parts, vars) => {
      const [hash = '', key = '', text = ''] = listOf(parts)
      return createHmac(String(hash), textOf(key, vars)).update(textOf(text, vars)).digest('hex')
    },
  ],
  ['$jwt', (spec, vars) => makeToken(specOf(spec), vars)],
  ['$bearer', (spec, vars) => `Bearer ${makeToken(specOf(spec), vars)}`],
])

/** The value with every operator in it worked out. */
export function fill(value: Json, vars: Variables): Json {
  if (Array.isArray(value)) return value.map((item: Json) => fill(item, vars))
  if (value === null || typeof value !== 'object') return value
  const entries = Object.entries(value)
  const [only] = entries
  const operator = entries.length === 1 && only ? OPERATORS.get(only[0]) : undefined
  if (operator && only) return operator(only[1], vars)
  return Object.fromEntries(entries.map(([name, item]) => [name, fill(item, vars)]))
}
