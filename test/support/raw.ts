import { connect, type NetConnectOpts } from 'node:net'

export interface RawAnswer {
  readonly status: number
  readonly head: string
  readonly body: string
  /** Everything received until the server closed or the wait ended. */
  readonly text: string
  readonly isClosed: boolean
}

/**
 * Writes bytes to a socket and gives what comes back: until the server closes, or until one whole reply (by its
 * Content-Length) or the text `until` is there and `untilClosed` is not asked for.
 */
export function sendRaw(
  to: number | NetConnectOpts,
  bytes: string | Buffer | (string | Buffer)[],
  options: { untilClosed?: boolean; until?: string; waitMs?: number } = {},
): Promise<RawAnswer> {
  return new Promise((resolve) => {
    const socket = connect(typeof to === 'number' ? { host: '127.0.0.1', port: to } : to)
    let text = ''
    const finish = (isClosed: boolean) => {
      clearTimeout(timer)
      socket.destroy()
      resolve({ ...readAnswer(text), text, isClosed })
    }
    const timer = setTimeout(() => finish(false), options.waitMs ?? 60_000)
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      if (!options.untilClosed && isWhole(text, options.until)) finish(false)
    })
    socket.on('close', () => finish(true)).on('error', () => {})
    socket.on('connect', () => {
      for (const piece of Array.isArray(bytes) ? bytes : [bytes])
        socket.write(typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece)
    })
  })
}

function readAnswer(text: string): Pick<RawAnswer, 'status' | 'head' | 'body'> {
  const end = text.indexOf('\r\n\r\n')
  const head = end < 0 ? text : text.slice(0, end)
  return { status: Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0), head, body: end < 0 ? '' : text.slice(end + 4) }
}

function isWhole(text: string, until?: string): boolean {
  if (until !== undefined && text.includes(until)) return true
  const { head, body, status } = readAnswer(text)
  if (status === 0 || status === 100 || !text.includes('\r\n\r\n')) return false
  const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0)
  return body.length >= length
}

export const request = (target: string, ...headers: string[]): string =>
  [`GET ${target} HTTP/1.1`, 'Host: localhost', ...headers, '', ''].join('\r\n')
