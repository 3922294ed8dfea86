import { isJsonObject, readJson } from '../base/json.ts'
import { readBody, send } from './http-client.ts'

/** A server: a socket whose file permission is the credential, or a URL with a name and password. */
export type Server =
  | { readonly kind: 'socket'; readonly path: string }
  | { readonly kind: 'url'; readonly url: URL; readonly authorization: string; readonly ca: Buffer | undefined }

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

const SOCKET_URL = new URL('http://localhost')
const MAX_BYTES = 64 * 1024 * 1024

/** Rejects with the failure of the connection, or with a `TimeoutError`. Redirects are not followed. */
export async function sendControl(server: Server, request: ControlRequest): Promise<ControlAnswer> {
  const { method, target: path, timeoutMs } = request
  const body = request.body === undefined ? undefined : JSON.stringify(request.body)
  const headers = {
    'X-Cardea-Control': '1',
    ...(body !== undefined && { 'Content-Type': 'application/json', 'Content-Length': `${Buffer.byteLength(body)}` }),
    ...(server.kind === 'url' && { Authorization: server.authorization }),
  }
  const sent = { method, path, headers, body, timeoutMs }
  const response = await (server.kind === 'socket'
    ? send(SOCKET_URL, { ...sent, socketPath: server.path })
    : send(server.url, { ...sent, ca: server.ca }))
  const reading = readJson((await readBody(response, MAX_BYTES)).toString())
  return { status: response.statusCode ?? 0, value: reading.kind === 'json' ? reading.value : undefined }
}

/** The error of the admin API, if the response is one. */
export function readControlError(value: unknown): { readonly error: string; readonly reason: string } | undefined {
  if (!isJsonObject(value)) return undefined
  const { error, reason } = value
  return typeof error === 'string' && typeof reason === 'string' ? { error, reason } : undefined
}
