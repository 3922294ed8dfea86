/**
 * Sends requests over HTTP/1.1 without waiting for the responses. flood.ts says what is measured, and which options
 * there are. The defaults take less than five minutes.
 *
 *     node test/long/attacks/pipelining.ts
 */
import { BURST_BYTES, type Burst, runFlood, type Way } from './flood.ts'

/** Without a password: guesses.ts attacks with those. */
const BODY = '{"name":"eve"}'
const HEAD = 'Host: localhost\r\nContent-Type: application/json\r\n'

const toGet = ({ get }) => `GET ${get} HTTP/1.1\r\nHost: a\r\n\r\n`
const toPost = ({ post }) => `POST ${post} HTTP/1.1\r\n${HEAD}Content-Length: ${BODY.length}\r\n\r\n${BODY}`
const toChunked = ({ post }) =>
  `POST ${post} HTTP/1.1\r\n${HEAD}Transfer-Encoding: chunked\r\n\r\n${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`

/** The same text again and again. */
function* repeat(text: string): Generator<Burst> {
  const requests = Math.ceil(BURST_BYTES / text.length)
  const bytes = Buffer.from(text.repeat(requests))
  for (;;) yield { bytes, requests }
}

const WAYS: Readonly<Record<string, Way>> = {
  read: { bursts: (row) => repeat(toGet(row)) },
  ignore: { bursts: (row) => repeat(toGet(row)), ignoresReplies: true },
  reconnect: { bursts: (row) => repeat(toGet(row)), reconnects: true },
  bodies: { bursts: (row) => repeat(toPost(row) + toChunked(row)) },
}

await runFlood({ ways: WAYS })
