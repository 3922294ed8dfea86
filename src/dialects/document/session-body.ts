import { decodePercent } from '../../base/encoding.ts'
import { Refusal } from '../../base/errors.ts'
import { isJsonObject } from '../../base/json.ts'
import type { RequestContext } from '../../http/request-context.ts'
import { readDecodedBody, requireJson } from './body.ts'

/** What a client sends to sign in. */
export interface SignInBody {
  /** `undefined`: nobody was named. */
  readonly name: string | undefined
  readonly password: string
  /** The one-time code. */
  readonly token: string
}

type Fields = ReadonlyMap<string, string>

/** A sign-in is small, whatever other bodies may be: it is read before the client is known. */
const MAX_BYTES = 16_384

const READERS: ReadonlyMap<string, (context: RequestContext) => Promise<Fields>> = new Map([
  ['application/x-www-form-urlencoded', readForm],
  ['application/json', readObject],
])

const WANTED = [...READERS.keys()].map((type) => `'${type}'`).join(' or ')

export const hasBody = (context: RequestContext): boolean =>
  Number(context.header('content-length') ?? 0) > 0 || context.header('transfer-encoding') !== undefined

export async function readSignInBody(context: RequestContext): Promise<SignInBody> {
  const [type = ''] = (context.header('content-type') ?? '').split(';')
  const read = READERS.get(type.trim().toLowerCase())
  if (!read) throw new Refusal('unsupported_media_type', { about: WANTED })
  const fields = await read(context)
  return { name: findName(fields), password: fields.get('password') ?? '', token: fields.get('token') ?? '' }
}

function findName(fields: Fields): string | undefined {
  const [name, username] = [fields.get('name'), fields.get('username')]
  if (name !== undefined && username !== undefined && name !== username) {
    throw new Refusal('bad_request', { about: 'request body contains different usernames' })
  }
  return name ?? username
}

async function readObject(context: RequestContext): Promise<Fields> {
  const body = await readDecodedBody(context, MAX_BYTES)
  if (body === undefined) throw new Refusal('missing_body')
  const { value } = await requireJson(body, context, 'request body names a member twice')
  if (!isJsonObject(value)) throw new Refusal('bad_request', { about: 'Request body must be a JSON object' })
  return new Map(Object.entries(value).map(([name, value]) => [name, requireText(value)]))
}

function requireText(value: unknown): string {
  if (typeof value === 'string') return value
  throw new Refusal('bad_request', { about: 'every member of the request body must be a string' })
}

/** Pairs by `&` or `;`; of two with one name the first counts. Of a form a content coding is not undone. */
async function readForm(context: RequestContext): Promise<Fields> {
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
  if (decoded === undefined) throw new Refusal('bad_request', { about: 'the form is not percent-encoded UTF-8' })
  return decoded
}
