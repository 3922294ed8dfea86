/** Requests over HTTP/2 to a running server. */
import { once } from 'node:events'
import {
  connect,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type SecureClientSessionOptions,
} from 'node:http2'
import { text } from 'node:stream/consumers'

interface Http2Request {
  readonly method?: string
  readonly headers?: OutgoingHttpHeaders
  readonly body?: string | undefined
  readonly tls?: SecureClientSessionOptions
}

export interface Http2Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Sends one request on a connection of its own. */
export async function sendHttp2(
  url: string,
  { method = 'GET', headers, body, tls }: Http2Request,
): Promise<Http2Reply> {
  const { origin, pathname, search } = new URL(url)
  const session = connect(origin, tls)
  try {
    const stream = session.request({ ...headers, ':method': method, ':path': pathname + search })
    stream.end(body)
    const [head] = await once(stream, 'response')
    return { status: head[':status'], headers: head, body: await text(stream) }
  } finally {
    session.destroy()
  }
}
