/** Reads a request to sign in at `/_session`. */
import { badRequest, Refusal } from '../../base/errors.ts'
import { type Fields, readForm } from '../../http/form.ts'
import type { RequestContext } from '../../http/request-context.ts'
import { requireBody, requireObject } from './body.ts'

/** The body is read before the client is authenticated, so this is less than other bodies may have. */
const MAX_BYTES = 16_384

const READERS: ReadonlyMap<string, (context: RequestContext) => Promise<Fields>> = new Map([
  ['application/x-www-form-urlencoded', (context) => readForm(context, MAX_BYTES)],
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

/** Whether `Accept` lists HTML by name, as browsers do for pages. A wildcard does not count. */
export const acceptsHtml = (accept: string | undefined): boolean =>
  (accept ?? '').split(',').some((range) => {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
    return type === 'text/html' && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter))
  })
