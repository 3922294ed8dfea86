import { writeVelocyPack } from '../../base/write-velocypack.ts'
import type { HeaderPair, Reply, RequestHead } from '../../http/request-context.ts'

const JSON_TYPE: HeaderPair = ['Content-Type', 'application/json']
const JSON_HEADERS: readonly HeaderPair[] = [JSON_TYPE]
const VELOCYPACK = 'application/x-velocypack'

/** Whether the first media type of a header is VelocyPack. Parameters and further types are ignored, as in ArangoDB. */
export const namesVelocyPack = (header: string | undefined): boolean =>
  header?.split(/[;,]/, 1)[0]?.trim().toLowerCase() === VELOCYPACK

/** The reply in VelocyPack if the client asks for it. One that is streamed stays JSON: its length comes first there. */
export function toAskedFormat(reply: Reply, context: RequestHead | undefined): Reply {
  const { headers, body } = reply
  if (typeof body !== 'string' || !headers.includes(JSON_TYPE) || !namesVelocyPack(context?.header('accept')))
    return reply
  const others = headers.filter((pair) => pair !== JSON_TYPE)
  return { ...reply, headers: [['Content-Type', VELOCYPACK], ...others], body: writeVelocyPack(JSON.parse(body)) }
}

export const toMultiModelReply = (status: number, value: unknown, headers: readonly HeaderPair[] = []): Reply => ({
  status,
  headers: headers.length === 0 ? JSON_HEADERS : [...JSON_HEADERS, ...headers],
  body: JSON.stringify(value),
})

/** The members of an object beside `error` and `code`, which win. */
export const toMergedReply = (status: number, members: object): Reply =>
  toMultiModelReply(status, { ...members, error: false, code: status })

/** A value as `result`, beside `error` and `code`. */
export const toWrappedReply = (result: unknown): Reply => toMultiModelReply(200, { error: false, code: 200, result })

/** `error` and `code` alone. */
export const toDoneReply = (status: number): Reply => toMultiModelReply(status, { error: false, code: status })

export const toEmptyReply = (status: number, headers: readonly HeaderPair[] = []): Reply => ({
  status,
  headers: [['Content-Type', 'text/plain'], ...headers],
})

/** A larger body is streamed, because it may not fit into memory. */
const MAX_GATHERED_BYTES = 1 << 20

/** JSON that is produced piece by piece. A small one is sent whole, with its length. */
export const toStreamedReply = async (pieces: AsyncIterable<string>): Promise<Reply> => ({
  status: 200,
  headers: JSON_HEADERS,
  body: await gather(pieces),
})

/** The pieces as one string, or all of them as a stream if they are more than `maxBytes`. */
export async function gather(
  pieces: AsyncIterable<string>,
  maxBytes = MAX_GATHERED_BYTES,
): Promise<string | AsyncIterable<string>> {
  const rest = pieces[Symbol.asyncIterator]()
  const gathered: string[] = []
  let bytes = 0
  for (let next = await rest.next(); !next.done; next = await rest.next()) {
    gathered.push(next.value)
    bytes += Buffer.byteLength(next.value)
    if (bytes > maxBytes) return resume(gathered, rest)
  }
  return gathered.join('')
}

async function* resume(gathered: readonly string[], rest: AsyncIterator<string>): AsyncGenerator<string> {
  try {
    yield* gathered
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value
  } finally {
    await rest.return?.()
  }
}
