// JSON bodies of requests and replies. An unknown member of a request is an error, never ignored.
import type { SignInCredentials } from '../../auth/session/session-service.ts'
import { badRequest, ERRORS, type ErrorCode, Refusal } from '../../base/errors.ts'
import { findMember, isJsonObject } from '../../base/json.ts'
import { readJsonBody } from '../../base/json-body.ts'
import type { HeaderPair, Reply, RequestBody, RequestHead } from '../../http/request-context.ts'
import { mapOf, object, type Schema, type Static, text } from './schemas/schema.ts'

export const toApiReply = (status: number, value: unknown, headers: readonly HeaderPair[] = []): Reply => ({
  status,
  headers: [['Content-Type', 'application/json'], ...headers],
  body: `${JSON.stringify(value)}\n`,
})

const JSON_TYPE = /^application\/json(?:;|$)/i

/** The body as JSON; `undefined` if there is none. */
export async function readApiBody(context: RequestHead & RequestBody, maxBytes?: number): Promise<unknown> {
  const bytes = await context.readBody(maxBytes)
  if (bytes === undefined || bytes.length === 0) return undefined
  // a form of another site cannot send this type without a preflight
  if (!JSON_TYPE.test(context.header('content-type') ?? ''))
    throw new Refusal('unsupported_media_type', { value: 'application/json' })
  const reading = await readJsonBody(bytes, context.jsonLimits)
  if (reading.kind === 'json') return reading.value
  throw new Refusal(reading.reason === 'too_many_items' ? 'body_too_large' : 'invalid_json')
}

/** The value, if the schema describes it. */
export function requireValid<T>(schema: Schema<T>, value: unknown): T {
  if (value === undefined) throw new Refusal('missing_body')
  const problem = findProblem(schema, value)
  if (problem !== undefined) throw badRequest(problem)
  // as the schema says
  return value as T
}

/** What is wrong, as a sentence. Understands the forms of schema that requests need: alternatives are only `null`. */
function findProblem(schema: Schema, value: unknown, path = ''): string | undefined {
  const [first] = schema.anyOf ?? [schema]
  if (!isOfType(schema, value)) return `${path || 'The body'} must be ${describeType(schema)}.`
  if (value === null || !first) return undefined
  if (first.properties && isJsonObject(value)) return findMemberProblem(first, value, path)
  if (first.items?.type !== 'object' || !Array.isArray(value)) return undefined
  for (const [index, item] of value.entries()) {
    const problem = findProblem(first.items, item, `${path}[${index}]`)
    if (problem !== undefined) return problem
  }
  return undefined
}

function findMemberProblem(
  { properties = {}, required = [] }: Schema,
  value: Readonly<Record<string, unknown>>,
  path: string,
) {
  const unknown = Object.keys(value).some((name) => !Object.hasOwn(properties, name))
  if (unknown) return `${path || 'The body'} has an unknown member; known are ${Object.keys(properties).join(', ')}.`
  for (const [name, schema] of Object.entries(properties)) {
    const member = findMember(value, name)
    const place = path === '' ? name : `${path}.${name}`
    if (member === undefined && required.includes(name)) return `${place} is missing.`
    const problem = member === undefined ? undefined : findProblem(schema, member, place)
    if (problem !== undefined) return problem
  }
  return undefined
}

interface ValueType {
  readonly title: string
  is(value: unknown, schema: Schema): boolean
}

const TYPES: Readonly<Record<string, ValueType>> = {
  string: { title: 'a string', is: (value) => typeof value === 'string' },
  boolean: { title: 'true or false', is: (value) => typeof value === 'boolean' },
  null: { title: 'null', is: (value) => value === null },
  object: { title: 'an object', is: isJsonObject },
  integer: {
    title: 'a whole number',
    is: (value, { minimum = -Infinity, maximum = Infinity }) =>
      typeof value === 'number' && Number.isSafeInteger(value) && value >= minimum && value <= maximum,
  },
  array: {
    title: 'a list',
    // objects in a list have messages of their own
    is: (value, { items = {} }) =>
      Array.isArray(value) && (items.type === 'object' || value.every((item) => isOfType(items, item))),
  },
}

const isOfType = (schema: Schema, value: unknown): boolean =>
  schema.anyOf?.some((each) => isOfType(each, value)) ??
  ((TYPES[schema.type ?? '']?.is(value, schema) ?? true) &&
    (schema.enum === undefined || schema.enum.some((word) => word === value)))

function describeType({ type = '', anyOf, enum: words, maximum, items }: Schema): string {
  if (anyOf) return anyOf.map(describeType).join(' or ')
  if (words) return `one of ${words.filter(Boolean).join(', ')}`
  if (maximum !== undefined) return `a number from 1 to ${maximum}`
  return items?.type === 'string' ? 'a list of strings' : (TYPES[type]?.title ?? type)
}

const WHOLE = /^\d{1,9}$/

/** The query as the schema describes it. Every parameter must be known and given once. */
export function readQuery<T>(schema: Schema<T>, query: URLSearchParams): T {
  const { properties = {} } = schema
  const names = [...query.keys()]
  if (names.some((name) => !Object.hasOwn(properties, name)))
    throw badRequest(`The query has an unknown parameter; known are ${Object.keys(properties).join(', ') || 'none'}.`)
  const repeated = names.find((name, index) => names.indexOf(name) !== index)
  if (repeated !== undefined) throw badRequest(`${repeated} must be given once.`)
  const toValue = (name: string, text: string) =>
    properties[name]?.type === 'integer' && WHOLE.test(text) ? Number(text) : text
  return requireValid(schema, Object.fromEntries([...query].map(([name, text]) => [name, toValue(name, text)])))
}

/** Name and password, with a one-time code or a passkey if the user needs one; or a passkey alone. */
export const CREDENTIALS = object({
  'name?': text(),
  'password?': text(),
  'code?': text('A one-time code.'),
  'passkey?': mapOf(
    {},
    'What `navigator.credentials.get` returned, as JSON. It replaces the code, or name and password.',
  ),
})

export function toCredentials({ name, password, code = '', passkey }: Static<typeof CREDENTIALS>): SignInCredentials {
  if (name !== undefined && password !== undefined && (name !== '' || !passkey))
    return { name, password, code, ...(passkey && { passkey }) }
  if (passkey && name === undefined && password === undefined && code === '')
    return { name: '', password: '', code, passkey }
  throw badRequest('Send name and password, with a code or a passkey if it is needed; or a passkey alone.')
}

/** Failures of this server whose cause its administrators may read: it names servers and files. */
const EXPLAINED: ReadonlySet<ErrorCode> = new Set(['store_unavailable', 'audit_unavailable', 'password_check_failed'])

/** The body of an error, the same over HTTP and for a command that has opened the store itself. */
export function toApiErrorBody({ code, reason, detail }: Refusal, { isForAdministrator = false } = {}) {
  // why a credential is rejected is for the log
  const { status, text } = ERRORS[code]
  const shown = (status === 401 ? undefined : reason) ?? text
  const isExplained = isForAdministrator && detail !== undefined && EXPLAINED.has(code)
  return { error: code, reason: isExplained ? `${shown} Reason: ${detail}` : shown }
}
