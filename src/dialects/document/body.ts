import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { Refusal } from '../../base/errors.ts'
import { type JsonFlaw, readJsonBody } from '../../base/json-body.ts'
import type { RequestContext } from '../../http/request-context.ts'

const unzip = promisify(gunzip)

/** The body without its content coding; `undefined` where there is none. It may grow no larger than one sent plain. */
export async function readDecodedBody(
  context: RequestContext,
  maxBytes: number = context.maxBodyBytes,
): Promise<Buffer | undefined> {
  const body = await context.readBody(maxBytes)
  const coding = context.header('content-encoding') ?? 'identity'
  const decode = DECODERS.get(coding.trim().toLowerCase())
  if (body === undefined) return undefined
  if (!decode) throw new Refusal('unsupported_encoding', { about: coding })
  return decode(body, Math.min(maxBytes, context.maxBodyBytes))
}

/** The refusal of a body that is not JSON, or more than is read. */
const JSON_REFUSALS: Readonly<Record<JsonFlaw, (aboutDuplicate: string) => Refusal>> = {
  not_utf8: () => new Refusal('invalid_json'),
  not_json: () => new Refusal('invalid_json'),
  duplicate_name: (about) => new Refusal('bad_request', { about }),
  too_deep: () => new Refusal('bad_request', { about: 'The body nests too deep.' }),
  too_many_items: () => new Refusal('body_too_large'),
}

/** JSON within the limits of the request. `isExact`: every number in it can be kept as it is. */
export async function requireJson(
  bytes: Uint8Array,
  { jsonLimits }: Pick<RequestContext, 'jsonLimits'>,
  aboutDuplicate = 'A member stands in an object twice.',
): Promise<{ readonly value: unknown; readonly isExact: boolean }> {
  const reading = await readJsonBody(bytes, jsonLimits)
  if (reading.kind === 'json') return reading
  throw JSON_REFUSALS[reading.reason](aboutDuplicate)
}

type Decoder = (body: Buffer, maxBytes: number) => Buffer | Promise<Buffer>

const DECODERS: ReadonlyMap<string, Decoder> = new Map<string, Decoder>([
  ['identity', (body) => body],
  ['gzip', readGzip],
])

async function readGzip(body: Buffer, maxOutputLength: number): Promise<Buffer> {
  try {
    return await unzip(body, { maxOutputLength })
  } catch (error) {
    const isTooLarge = error instanceof RangeError
    if (isTooLarge) throw new Refusal('body_too_large')
    throw new Refusal('bad_request', { about: 'Request body is not properly gzipped.' })
  }
}
