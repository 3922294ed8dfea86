/** Reads a request to sign in or out at `/_session`: its body, and where it asks to be redirected to. */
import { decodePercent } from '../../base/encoding.ts'
import { badRequest, Refusal } from '../../base/errors.ts'
import type { RequestContext } from '../../http/request-context.ts'
import { requireBody, requireObject } from './body.ts'

type Fields = ReadonlyMap<string, string>

/** The body is read before the client is authenticated, so this is less than other bodies may have. */
const MAX_BYTES = 16_384

const READERS: ReadonlyMap<string, (context: RequestContext) => Promise<Fields>> = new Map([
  ['application/x-www-form-urlencoded', readForm],
  ['application/json', readObject],
])

const ACCEPTED_TYPES = [...READERS.keys()].map((type) => `'${type}'`).join(' or ')

export const hasBody = (context: RequestContext): boolean =>
  Number(context.header('content-length') ?? 0) > 0 || context.header('transfer-encoding') !== undefined

/** `token` is the one-time code. Empty: none was sent. */
export async function readSignInBody(context: RequestContext) {
  const [type = ''] = (context.header('content-type') ?? '').split(';')
  const read = READERS.get(type.trim().toLowerCase())
  if (!read) throw new Refusal('unsupported_media_type', { value: ACCEPTED_TYPES })
  const fields = await read(context)
  return { name: findName(fields), password: fields.get('password') ?? '', token: fields.get('token') ?? '' }
}

function findName(fields: Fields): string | undefined {
  const [name, username] = [fields.get('name'), fields.get('username')]
  if (name !== undefined && username !== undefined && name !== username)
    throw badRequest('request body contains different usernames')
  return name ?? username
}

async function readObject(context: RequestContext): Promise<Fields> {
  const { value } = await requireBody(context, MAX_BYTES, 'request body names a member twice')
  return new Map(Object.entries(requireObject(value)).map(([name, member]) => [name, requireText(member)]))
}

function requireText(value: unknown): string {
  if (typeof value === 'string') return value
  throw badRequest('every member of the request body must be a string')
}

/** Pairs are separated by `&` or `;`. The first of two pairs with the same name counts. */
async function readForm(context: RequestContext): Promise<Fields> {
  // quirk: the content encoding of a form is ignored
  const body = await context.readBody(MAX_BYTES)
  const fields = new Map<string, string>()
  for (const pair of (body?.toString('latin1') ?? '').split(/[&;]/)) {
    const equals = pair.indexOf('=')
    const [name, value] = equals < 0 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)]
    const key = readFormText(name)
    if (!fields.has(key)) fields.set(key, readFormText(value))
  }
  return fields
}

function readFormText(text: string): string {
  const decoded = decodePercent(text.replaceAll('+', ' '))
  if (decoded === undefined) throw badRequest('the form is not percent-encoded UTF-8')
  return decoded
}

/** The path in the query parameter `next` or `fail`, ready for `Location`. Paths to other hosts are rejected. */
export function findRedirect(context: RequestContext, parameter: 'next' | 'fail'): string | undefined {
  const path = context.query.get(parameter)
  if (path === null) return undefined
  if (!path.startsWith('/')) throw badRequest('path must begin with a /.')
  if (OTHER_HOST.test(path)) throw badRequest('path must be a path of this server.')
  return path.replace(/[^\x21-\x7e]+/g, (text) => encodeURIComponent(text))
}

/** Browsers read `//host` and `/\host` as another host, and drop control characters before they parse a URL. */
const OTHER_HOST = /^\/[/\\]|[\\\p{Cc}]/u

/** Whether `Accept` lists HTML by name, as browsers do for pages. A wildcard does not count. */
export const acceptsHtml = (accept: string | undefined): boolean =>
  (accept ?? '').split(',').some((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
    return type === 'text/html' && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter))
  })
