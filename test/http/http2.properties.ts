// Properties of every sequence of frames. The test runs them briefly, `npm run test:long -- fuzz` for long.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import fc from 'fast-check'
import { block, exchange, frame, request, START, TYPE, toHead, uint32 } from '../support/frames.ts'
import { openTestDoor } from './bare-door.ts'

const PATH = '/_open/echo'

const stream = fc.constantFrom(0, 1, 1, 1, 2, 3, 3, 5, 0x7fffffff)
const flags = fc.constantFrom(0, 1, 4, 5, 8, 13, 0x20, 0xff)
const rubbish = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes))
const name = fc.oneof(
  fc.constantFrom(':method', ':path', ':scheme', ':authority', ':status', 'host', 'cookie', 'content-length', 'expect'),
  fc.constantFrom('connection', 'te', 'transfer-encoding', 'authorization', '__proto__', 'X-A', 'x-forwarded-for', ''),
  fc.string({ unit: 'binary-ascii', maxLength: 6 }),
)
const value = fc.oneof(
  fc.constantFrom('GET', 'POST', 'get', PATH, '/echo', '*', 'localhost', '3', '100-continue', 'trailers', 'a\r\nb: c'),
  fc.string({ unit: 'binary-ascii', maxLength: 12 }),
)
const headers = fc.oneof(
  fc.array(fc.tuple(name, value), { maxLength: 6 }).map((further) => block(toHead(PATH, further))),
  fc.array(fc.tuple(name, value), { maxLength: 6 }).map(block),
  rubbish,
)
const size = fc.constantFrom(0, 1, 100, 0x7fffffff, 0xffffffff).map(uint32)

/** Frames of which most have the form of their type, and some are anything at all. */
const anyFrame = fc.oneof(
  fc.tuple(fc.constantFrom(TYPE.headers, TYPE.headers, TYPE.more), flags, stream, headers),
  fc.tuple(fc.constantFrom(TYPE.data), flags, stream, rubbish),
  fc.tuple(fc.constantFrom(TYPE.reset, TYPE.window), flags, stream, size),
  fc.tuple(fc.nat(255), flags, stream, rubbish),
)
const conversation = fc.array(
  anyFrame.map(([type, flag, id, payload]) => frame(type, flag, id, payload)),
  { maxLength: 12 },
)

/** Sends the bytes, and disconnects when the first ones arrive. */
async function send(port: number, bytes: readonly Buffer[]): Promise<void> {
  const socket = connect({ host: '127.0.0.1', port }).on('error', () => {})
  socket.once('data', () => socket.destroy()).write(Buffer.concat([START, ...bytes]))
  await once(socket, 'close')
}

/** After any frames the door serves others, and has logged no failure of its own. */
export async function checkFrames(numRuns: number): Promise<string | undefined> {
  const failures: unknown[] = []
  const closing: (() => unknown)[] = []
  const note = (message: string, fields?: object) => void failures.push({ message, ...fields })
  const { port } = await openTestDoor(
    { after: (work) => void closing.push(work) },
    { limits: { usesHttp2: true }, log: { debug() {}, info() {}, warn() {}, error: note } },
  )
  const property = fc.asyncProperty(conversation, async (frames) => {
    await send(port, frames)
    assert.equal(await exchange(port, [request(PATH)]), '200')
    assert.deepEqual(failures, [])
  })
  const result = await fc.check(property, { numRuns, includeErrorInReport: true })
  for (const close of closing) await close()
  return result.failed ? fc.defaultReportMessage(result) : undefined
}
