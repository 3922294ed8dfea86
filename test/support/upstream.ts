import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { makeFolder, type Scope } from './scope.ts'
import type { AnyOptions } from './server.ts'

export const UPSTREAM_SECRET = 'a-secret-the-document-upstream-shares'
export const MULTI_MODEL_SECRET = 'a-secret-of-the-multi-model-upstream'

/** A request as the upstream received it. */
export interface Seen {
  readonly method: string
  readonly url: string
  readonly raw: readonly string[]
  readonly body: Buffer
  /** Every value under that name, in any case. */
  all(name: string): readonly string[]
  header(name: string): string | undefined
}

export interface Backend {
  readonly url: string
  readonly port: number
  readonly seen: Seen[]
  readonly server: Server
  close(): Promise<void>
}

type Handle = (request: IncomingMessage, response: ServerResponse, body: Buffer) => void

const answerOk: Handle = (_request, response) => {
  response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"ok":true}')
}

/** Cardea asks them by itself every 15 seconds, which a test does not expect among the requests that it counts. */
const HEALTH_PATHS: readonly (string | undefined)[] = ['/_up', '/_admin/server/availability']

/** A server that records every request with its body, except health checks, and then responds. */
export function openBackend(scope: Scope, handle: Handle = answerOk): Promise<Backend> {
  const seen: Seen[] = []
  return openServer(
    scope,
    (request, response) => {
      const chunks: Buffer[] = []
      request.on('error', () => {})
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', () => {
        const body = Buffer.concat(chunks)
        if (!HEALTH_PATHS.includes(request.url)) seen.push(toSeen(request, body))
        handle(request, response, body)
      })
    },
    seen,
  )
}

/** A server with a listener of the test's own, which gets the request before its body. */
export async function openServer(
  scope: Scope,
  listener: RequestListener,
  seen: Seen[] = [],
  port = 0,
): Promise<Backend> {
  const server = createServer({ requestTimeout: 0, maxHeaderSize: 65_536 }, listener)
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  scope.after(close)
  const bound = (server.address() as AddressInfo).port
  return { url: `http://127.0.0.1:${bound}`, port: bound, seen, server, close }
}

function toSeen(request: IncomingMessage, body: Buffer): Seen {
  const raw = request.rawHeaders
  const all = (name: string) =>
    raw.filter((_, i) => i % 2 === 1 && (raw[i - 1] as string).toLowerCase() === name.toLowerCase())
  return { method: request.method ?? '', url: request.url ?? '', raw, body, all, header: (name) => all(name)[0] }
}

export const beforeDocument = (...urls: readonly string[]): AnyOptions => ({
  upstream: { document: urls.join(', '), 'document-secret': UPSTREAM_SECRET },
})

export function beforeMultiModel(scope: Scope, ...urls: readonly string[]): AnyOptions {
  const folder = makeFolder(scope)
  writeFileSync(join(folder, 'secret'), MULTI_MODEL_SECRET)
  return {
    upstream: { 'multi-model': urls.join(', '), 'multi-model-secret-keyfile': join(folder, 'secret') },
  }
}

/** The claims of a token; throws unless it is signed with this secret. */
export function openToken(authorization: string | undefined, secret: string): Record<string, unknown> {
  const [, text = ''] = /^bearer (.*)$/i.exec(authorization ?? '') ?? []
  const [head = '', payload = '', signature] = text.split('.')
  const expected = createHmac('sha256', secret).update(`${head}.${payload}`).digest('base64url')
  if (signature !== expected) throw new Error(`not signed for this server: ${authorization}`)
  return JSON.parse(Buffer.from(payload, 'base64url').toString())
}

/** A server whose responses begin and never end. */
export const openFeeds = (scope: Scope): Promise<Backend> =>
  openServer(scope, (_request, response) => {
    response.writeHead(200).write('{"seq":1}\n')
  })

/** An open stream, seen from the client. */
export interface Open {
  /** `complete` or `broken`. */
  readonly ended: Promise<string>
  isOpen(): boolean
  close(): void
}

/** Sends a request and waits until the response has begun. */
export async function openStream(base: string, path: string, headers: Record<string, string>): Promise<Open> {
  const { hostname, port } = new URL(base)
  const request = httpRequest({ hostname, port, path, headers, agent: false })
  request.on('error', () => {}).end()
  const [response]: [IncomingMessage] = (await once(request, 'response')) as [IncomingMessage]
  assert.equal(response.statusCode, 200)
  let how: string | undefined
  const ended = new Promise<string>((resolve) => {
    const end = (word: string) => () => {
      how ??= word
      resolve(how)
    }
    response.on('error', end('broken')).on('end', end('complete')).on('close', end('broken')).resume()
  })
  return { ended, isOpen: () => how === undefined, close: () => request.destroy() }
}

/**
 * express-pouchdb listens for the end of a connection after its feed has begun. If the connection ended before, the
 * timer of the feed would keep the process of the test alive.
 */
export function endFeedsOfClosedConnections(server: Server): void {
  server.on('connection', (socket) =>
    socket.on('newListener', (event, listener) => {
      if (event === 'close' && socket.destroyed) setImmediate(listener)
    }),
  )
}
