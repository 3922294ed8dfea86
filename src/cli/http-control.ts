import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isJsonObject, readJson } from '../base/json.ts'

/** A server: a socket whose file permission is the credential, or a URL with a name and password. */
export type Server =
  | { readonly kind: 'socket'; readonly path: string }
  | { readonly kind: 'url'; readonly url: URL; readonly authorization: string }

export interface ControlRequest {
  readonly method: string
  /** With its query. */
  readonly target: string
  readonly body?: unknown
  readonly timeoutMs: number
}

export interface ControlAnswer {
  readonly status: number
  /** `undefined` if the response is not JSON, so not from the admin API. */
  readonly value: unknown
}

/** Rejects with the failure of the connection, or with a `TimeoutError`. Redirects are not followed. */
export function sendControl(server: Server, request: ControlRequest): Promise<ControlAnswer> {
  const body = request.body === undefined ? undefined : JSON.stringify(request.body)
  return new Promise((resolve, reject) => {
    const send = server.kind === 'url' && server.url.protocol === 'https:' ? httpsRequest : httpRequest
    const sent = send(toOptions(server, request, body), (response) => {
      readAnswer(response).then(resolve, reject)
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

function toOptions(server: Server, request: ControlRequest, body: string | undefined): RequestOptions {
  const headers = {
    'X-Cardea-Control': '1',
    ...(body !== undefined && { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }),
    ...(server.kind === 'url' && { Authorization: server.authorization }),
  }
  const place =
    server.kind === 'socket'
      ? { socketPath: server.path, host: 'localhost' }
      : { hostname: server.url.hostname.replace(/^\[|\]$/g, ''), port: server.url.port }
  const signal = AbortSignal.timeout(request.timeoutMs)
  return { ...place, method: request.method, path: request.target, headers, signal, agent: false }
}

const MAX_BYTES = 64 * 1024 * 1024

async function readAnswer(response: IncomingMessage): Promise<ControlAnswer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response) {
    bytes += chunk.length
    if (bytes > MAX_BYTES) throw new Error('the answer is too large')
    chunks.push(chunk)
  }
  const reading = readJson(Buffer.concat(chunks).toString())
  return { status: response.statusCode ?? 0, value: reading.kind === 'json' ? reading.value : undefined }
}

/** The error of the admin API, if the response is one. */
export function readControlError(value: unknown): { readonly error: string; readonly reason: string } | undefined {
  if (!isJsonObject(value)) return undefined
  const { error, reason } = value
  return typeof error === 'string' && typeof reason === 'string' ? { error, reason } : undefined
}
