// JSON bodies of requests and replies. An unknown member of a request is an error, never ignored.
import { Refusal } from '../../base/errors.ts'
import { findMember, isJsonObject } from '../../base/json.ts'
import { readJsonBody as readJson } from '../../base/json-body.ts'
import type { HeaderPair, Reply, RequestContext } from '../../http/request-context.ts'

export const toJsonReply = (status: number, value: unknown, headers: readonly HeaderPair[] = []): Reply => ({
  status,
  headers: [['Content-Type', 'application/json'], ...headers],
  body: `${JSON.stringify(value)}\n`,
})

const JSON_TYPE = /^application\/json(?:;|$)/i

/** The body as JSON; `undefined` if there is none. */
export async function readJsonBody(context: RequestContext, maxBytes?: number): Promise<unknown> {
  const bytes = await context.readBody(maxBytes)
  if (bytes === undefined || bytes.length === 0) return undefined
  // a form of another site cannot send this type without a preflight
  if (!JSON_TYPE.test(context.header('content-type') ?? ''))
    throw new Refusal('unsupported_media_type', { about: 'application/json' })
  const reading = await readJson(bytes, context.jsonLimits)
  if (reading.kind === 'json') return reading.value
  throw new Refusal(reading.reason === 'too_many_items' ? 'body_too_large' : 'invalid_json')
}

export type Members = Readonly<Record<string, unknown>>

const refuse = (about: string): Refusal => new Refusal('bad_request', { about })

/** The members of an object that has no others than `known`. */
export function readMembers(value: unknown, known: readonly string[], what = 'The body'): Members {
  if (value === undefined) throw new Refusal('missing_body')
  if (!isJsonObject(value)) throw refuse(`${what} must be an object.`)
  const unknown = Object.keys(value).find((name) => !known.includes(name))
  if (unknown !== undefined) throw refuse(`${what} has an unknown member; known are ${known.join(', ')}.`)
  return value
}

interface ArgumentType<T> {
  readonly title: string
  is(value: unknown): value is T
}

const TEXT: ArgumentType<string> = { title: 'a string', is: (value) => typeof value === 'string' }
export const FLAG: ArgumentType<boolean> = { title: 'true or false', is: (value) => typeof value === 'boolean' }
export const LIST: ArgumentType<readonly unknown[]> = { title: 'a list', is: (value) => Array.isArray(value) }
export const TEXT_LIST: ArgumentType<readonly string[]> = {
  title: 'a list of strings',
  is: (value): value is readonly string[] => Array.isArray(value) && value.every(TEXT.is),
}

/** A member that may be missing. */
export function findArgument<T>(members: Members, name: string, { title, is }: ArgumentType<T>): T | undefined {
  const value = findMember(members, name)
  if (value === undefined || is(value)) return value
  throw refuse(`${name} must be ${title}.`)
}

export function requireArgument<T>(members: Members, name: string, type: ArgumentType<T>): T {
  const value = findArgument(members, name, type)
  if (value === undefined) throw refuse(`${name} is missing.`)
  return value
}

export const findText = (members: Members, name: string): string | undefined => findArgument(members, name, TEXT)

export const requireText = (members: Members, name: string): string => requireArgument(members, name, TEXT)

/** Throws unless every parameter is known and given once. */
export function requireKnownQuery(query: URLSearchParams, known: readonly string[]): void {
  const names = [...query.keys()]
  if (names.some((name) => !known.includes(name)))
    throw refuse(`The query has an unknown parameter; known are ${known.join(', ') || 'none'}.`)
  const repeated = names.find((name, index) => names.indexOf(name) !== index)
  if (repeated !== undefined) throw refuse(`${repeated} must be given once.`)
}

/** A whole number from 1 to `max` in the query; `max` if it is missing. */
export function readCount(query: URLSearchParams, name: string, max: number): number {
  const text = query.get(name)
  if (text === null) return max
  const count = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (count < 1 || count > max) throw refuse(`${name} must be a number from 1 to ${max}.`)
  return count
}
