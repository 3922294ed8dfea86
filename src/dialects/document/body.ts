/** The bodies of this dialect: JSON in requests and in replies. */

import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { badRequest, Refusal } from '../../base/errors.ts'
import { isJsonObject } from '../../base/json.ts'
import { type JsonFlaw, readJsonBody } from '../../base/json-body.ts'
import { yieldToOthers } from '../../base/pace.ts'
import type { Feed, HeaderPair, Reply, RequestBody, RequestContext, RequestHead } from '../../http/request-context.ts'

export const JSON_HEADERS: readonly HeaderPair[] = [
  ['Cache-Control', 'must-revalidate'],
  ['Content-Type', 'application/json'],
]

export const toDocumentReply = (status: number, value: unknown, headers: readonly HeaderPair[] = []): Reply =>
  toTextReply(status, JSON.stringify(value), headers)

/** For JSON that is already text. Like CouchDB, every JSON body ends with a newline. */
export const toTextReply = (status: number, json: string, headers: readonly HeaderPair[] = []): Reply => ({
  status,
  headers: headers.length === 0 ? JSON_HEADERS : [...JSON_HEADERS, ...headers],
  body: `${json}\n`,
})

/** Rejects the content types that a form on another site can send together with the cookies of this one. */
export function requireJsonType(context: RequestHead): void {
  const [type] = (context.header('content-type') ?? '').split(';')
  if (type?.trim() !== 'application/json') throw new Refusal('unsupported_media_type', { value: 'application/json' })
}

export const requireObjectBody = async (context: RequestContext): Promise<Readonly<Record<string, unknown>>> =>
  requireJsonObject(await requireExactBody(context))

export function requireJsonObject(value: unknown): Readonly<Record<string, unknown>> {
  if (isJsonObject(value)) return value
  throw badRequest('Request body must be a JSON object')
}

/** The JSON body of a request whose numbers are stored. Rejects a number that JavaScript cannot represent exactly. */
export async function requireExactBody(context: RequestContext): Promise<unknown> {
  const { value, isExact } = await requireBody(context)
  if (isExact) return value
  throw badRequest('The body holds a number that cannot be kept exactly as it is.')
}

/**
 * The JSON body of a request. `isExact`: every number stays the same when it is written again. Objects with two members
 * of the same name are rejected.
 */
export async function requireBody(
  context: RequestContext,
  maxBytes?: number,
  aboutDuplicate = 'An object in the body contains the same member twice.',
) {
  const bytes = await loadDecodedBody(context, maxBytes)
  if (bytes === undefined) throw new Refusal('missing_body')
  const reading = await readJsonBody(bytes, context.jsonLimits)
  // a client may take minutes to send a body, and its credential may end meanwhile
  await context.confirm()
  if (reading.kind === 'json') return reading
  throw JSON_REFUSALS[reading.reason](aboutDuplicate)
}

const JSON_REFUSALS: Readonly<Record<JsonFlaw, (aboutDuplicate: string) => Refusal>> = {
  not_utf8: () => new Refusal('invalid_json'),
  not_json: () => new Refusal('invalid_json'),
  duplicate_name: badRequest,
  too_deep: () => badRequest('The body is nested too deeply.'),
  too_many_items: () => new Refusal('body_too_large'),
}

/** Removes the content encoding. The limit applies to the decoded body too. */
async function loadDecodedBody(
  context: RequestHead & RequestBody,
  maxBytes = context.maxBodyBytes,
): Promise<Buffer | undefined> {
  const body = await context.readBody(maxBytes)
  if (body === undefined) return undefined
  const sent = context.header('content-encoding') ?? 'identity'
  const encoding = sent.trim().toLowerCase()
  if (encoding === 'identity') return body
  if (encoding === 'gzip') return readGzip(body, Math.min(maxBytes, context.maxBodyBytes))
  throw new Refusal('unsupported_encoding', { value: sent })
}

const unzip = promisify(gunzip)

async function readGzip(body: Buffer, maxOutputLength: number): Promise<Buffer> {
  try {
    return await unzip(body, { maxOutputLength })
  } catch (error) {
    // a RangeError: the output would exceed maxOutputLength
    if (error instanceof RangeError) throw new Refusal('body_too_large')
    throw badRequest('Request body is not properly gzipped.')
  }
}

/** Rows are sent in chunks of about this size: one write per row would cost more than the row. */
const CHUNK_CHARACTERS = 16_384

type Items<T> = Iterable<T> | AsyncIterable<T>
type Render<T> = (item: T) => string | Promise<string>

/**
 * Streams a JSON list of any length. The first chunk is rendered before the reply starts, so that an error in it still
 * becomes an error reply.
 */
export async function toListReply<T>(
  head: string,
  items: Items<T>,
  render: Render<T>,
  layout = ONE_FOR_EACH_LINE,
): Promise<Reply> {
  const chunks = renderChunks(head + layout.start, items, render, layout)
  const first = await chunks.next()
  return { status: 200, headers: JSON_HEADERS, body: first.done ? '' : resume(first.value, chunks) }
}

const ONE_FOR_EACH_LINE = { start: '\n', separator: ',\n', end: '\n]}\n' }
export const ON_ONE_LINE: typeof ONE_FOR_EACH_LINE = { start: '', separator: ',', end: ']}\n' }

async function* renderChunks<T>(
  head: string,
  items: Items<T>,
  render: Render<T>,
  layout: typeof ONE_FOR_EACH_LINE,
): AsyncGenerator<string, void> {
  let text = head
  let separator = ''
  for await (const item of items) {
    text += `${separator}${await render(item)}`
    separator = layout.separator
    if (text.length < CHUNK_CHARACTERS) continue
    yield text
    text = ''
    await yieldToOthers()
  }
  yield text + layout.end
}

async function* resume(first: string, rest: AsyncGenerator<string, void>): Feed {
  yield first
  yield* rest
}
