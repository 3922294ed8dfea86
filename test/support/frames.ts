/** Writes and reads frames of HTTP/2, valid or not. */
import { connect } from 'node:net'

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
export const TYPE = { data: 0, headers: 1, priority: 2, reset: 3, settings: 4, ping: 6, goaway: 7, window: 8, more: 9 }
export const FLAG = { endStream: 1, ack: 1, endHeaders: 4, padded: 8 }

export function frame(type: number, flags: number, stream: number, payload: Buffer | string = ''): Buffer {
  const bytes = typeof payload === 'string' ? Buffer.from(payload, 'latin1') : payload
  const head = Buffer.alloc(9)
  head.writeUIntBE(bytes.length, 0, 3)
  head.writeUInt8(type, 3)
  head.writeUInt8(flags, 4)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, bytes])
}

export const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** What every client sends first. */
export const START = Buffer.concat([PREFACE, frame(TYPE.settings, 0, 0)])

/** Headers as text that no table keeps: names and values may be invalid. */
export const block = (headers: readonly (readonly [string, string])[]): Buffer =>
  Buffer.concat(headers.flatMap(([name, value]) => [Buffer.of(0), toLiteral(name), toLiteral(value)]))

function toLiteral(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1')
  if (bytes.length < 127) return Buffer.concat([Buffer.of(bytes.length), bytes])
  const length = [127]
  let rest = bytes.length - 127
  for (; rest >= 128; rest = Math.floor(rest / 128)) length.push((rest % 128) + 128)
  return Buffer.concat([Buffer.from([...length, rest]), bytes])
}

/** A request of which single pseudo-headers are replaced, or left out with an empty value. */
export function request(path: string, further: readonly (readonly [string, string])[] = [], stream = 1): Buffer {
  const head = toHead(path, further)
  return frame(TYPE.headers, FLAG.endHeaders | FLAG.endStream, stream, block(head))
}

export function toHead(path: string, further: readonly (readonly [string, string])[] = []) {
  const pseudo = [
    [':method', 'GET'],
    [':scheme', 'http'],
    [':path', path],
    [':authority', 'localhost'],
  ] as const
  return [...pseudo, ...further]
}

export interface Frame {
  readonly type: number
  readonly flags: number
  readonly stream: number
  readonly payload: Buffer
}

export function readFrames(bytes: Buffer): Frame[] {
  const frames: Frame[] = []
  for (let at = 0; at + 9 <= bytes.length; ) {
    const end = at + 9 + bytes.readUIntBE(at, 3)
    if (end > bytes.length) break
    const [type, flags] = [bytes.readUInt8(at + 3), bytes.readUInt8(at + 4)]
    frames.push({ type, flags, stream: bytes.readUInt32BE(at + 5) & 0x7fffffff, payload: bytes.subarray(at + 9, end) })
    at = end
  }
  return frames
}

/** By error code. */
const ERRORS = [
  'NO_ERROR',
  'PROTOCOL_ERROR',
  'INTERNAL_ERROR',
  'FLOW_CONTROL_ERROR',
  'SETTINGS_TIMEOUT',
  'STREAM_CLOSED',
  'FRAME_SIZE_ERROR',
  'REFUSED_STREAM',
  'CANCEL',
  'COMPRESSION_ERROR',
  'CONNECT_ERROR',
  'ENHANCE_YOUR_CALM',
]

/** What a frame says about a request: `200`, `RST_STREAM …`, `GOAWAY …`; `undefined`: nothing. */
export function describe({ type, payload }: Frame): string | undefined {
  if (type === TYPE.headers) return readStatus(payload)
  if (type === TYPE.reset) return `RST_STREAM ${ERRORS[payload.readUInt32BE(0)]}`
  if (type === TYPE.goaway) return `GOAWAY ${ERRORS[payload.readUInt32BE(4)]}`
  return undefined
}

const STATIC = new Map([
  [0x88, '200'],
  [0x89, '204'],
  [0x8c, '400'],
  [0x8d, '404'],
])

/** The status is the first header: of the static table, or digits, in Huffman's code where that is shorter. */
function readStatus(payload: Buffer): string {
  const indexed = STATIC.get(payload[0] ?? 0)
  if (indexed !== undefined) return indexed
  if (payload[1] === 3) return payload.toString('latin1', 2, 5)
  let bits = [...payload.subarray(2, 5)].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  let status = ''
  while (status.length < 3) {
    const isShort = bits.startsWith('000')
    const code = Number.parseInt(bits.slice(0, isShort ? 5 : 6), 2)
    status += isShort ? code : code - 0b011001 + 3
    bits = bits.slice(isShort ? 5 : 6)
  }
  return status
}

/** Sends bytes after the start, and returns what the server says first about a request or the connection. */
export async function exchange(
  port: number,
  bytes: readonly Buffer[],
  isEnough = (_frame: Frame) => true,
): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  const socket = connect({ host: '127.0.0.1', port })
  let received = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk])
    for (const found of readFrames(received)) {
      const text = describe(found)
      if (isEnough(found) && text !== undefined) resolve(text)
    }
  })
  socket.on('error', () => {}).on('close', () => resolve('closed'))
  socket.write(Buffer.concat([START, ...bytes]))
  const outcome = await promise
  socket.destroy()
  return outcome
}
