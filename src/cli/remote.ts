// A running server: how it is named and reached, and the admin API's requests to it.

import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { resolve } from 'node:path'
import { codeOf, messageOf } from '../base/errors.ts'
import { gatherBytes } from '../base/gather-bytes.ts'
import { isJsonObject, readJson } from '../base/json.ts'
import { type Context, commandError, usageError } from './context.ts'
import { readTypedSecret } from './passwords.ts'

interface Request extends Pick<RequestOptions, 'method' | 'path' | 'socketPath'> {
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** PEM of the certificate authorities to trust instead of the public ones. */
  readonly ca?: Buffer | undefined
  readonly timeoutMs: number
}

/** Rejects with the failure of the connection, or if the server does not answer in time. Redirects are not followed. */
export function send(url: URL, { body, timeoutMs, ...options }: Request): Promise<IncomingMessage> {
  const request = url.protocol === 'https:' ? httpsRequest : httpRequest
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(timeoutMs)
    const late = new Error(`it did not answer within ${timeoutMs / 1000} seconds`)
    request(url, { ...options, signal, agent: false }, resolve)
      .on('error', (error) => reject(signal.aborted ? late : error))
      .end(body)
  })
}

/** Throws an error if the body is larger than the limit. */
export async function readResponseBody(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const body = await gatherBytes(response, maxBytes)
  if (!body) throw new Error('the response is too large')
  return body
}

/** Codes of a certificate that no trusted authority has signed. */
const UNTRUSTED: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/** Why a request failed. `option` names the file of trusted certificate authorities. */
export function explainFailure(error: unknown, option = '--ca FILE'): string {
  if (!UNTRUSTED.has(codeOf(error))) return messageOf(error)
  return `no trusted authority signed its certificate. If that is expected, name the certificate of the authority: ${option}`
}

/** The certificates of a file that an option names. */
export function loadCa({ cwd }: Context, file: string | undefined): Buffer | undefined {
  if (file === undefined) return undefined
  try {
    const pem = readFileSync(resolve(cwd, file))
    // throws if there is none; connections would fail without naming the file
    new X509Certificate(pem)
    return pem
  } catch (error) {
    throw commandError(`${file} holds no certificate that can be used: ${messageOf(error)}`)
  }
}

/** A server: a socket whose file permission is the credential, or a URL with a name and password. */
export type ControlServer =
  | { readonly kind: 'socket'; readonly path: string }
  | { readonly kind: 'url'; readonly url: URL; readonly authorization: string; readonly ca: Buffer | undefined }

interface ControlRequest {
  readonly method: string
  /** With its query. */
  readonly target: string
  readonly body?: unknown
  readonly timeoutMs: number
}

const SOCKET_URL = new URL('http://localhost')
const MAX_BYTES = 64 * 1024 * 1024

/** Rejects as `send` does. `value` is `undefined` if the response is not JSON, so not from the admin API. */
export async function sendControl(server: ControlServer, request: ControlRequest) {
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
  const reading = readJson((await readResponseBody(response, MAX_BYTES)).toString())
  return { status: response.statusCode ?? 0, value: reading.kind === 'json' ? reading.value : undefined }
}

/** The error of the admin API, if the response is one. */
export function readControlError(value: unknown): { readonly error: string; readonly reason: string } | undefined {
  if (!isJsonObject(value)) return undefined
  const { error, reason } = value
  return typeof error === 'string' && typeof reason === 'string' ? { error, reason } : undefined
}

export interface RemoteOptions {
  readonly url?: string
  readonly as?: string
  readonly credentials?: string
  readonly ca?: string
}

/** The server of `--url` and the credential for it; `undefined` without `--url`. */
export async function readRemote(context: Context, options: RemoteOptions): Promise<ControlServer | undefined> {
  if (options.url === undefined) return undefined
  const url = readUrl(options.url)
  const ca = loadCa(context, options.ca)
  return { kind: 'url', url, ca, authorization: await readAuthorization(context, url, options) }
}

export interface CredentialOptions {
  readonly as?: string | undefined
  readonly credentials?: string | undefined
  /** Name of the flag for `credentials`. */
  readonly flag?: string
}

/** The credential, from a file or a prompt. */
export async function readAuthorization(context: Context, url: URL, options: CredentialOptions): Promise<string> {
  if (url.protocol === 'http:' && !LOOPBACK.test(url.hostname)) {
    context.printError(`warning: ${url.origin} is not encrypted, and the password travels with every request`)
  }
  const pair = options.credentials === undefined ? await askPair(options, url) : readPair(options.credentials, context)
  return `Basic ${Buffer.from(pair).toString('base64')}`
}

const LOOPBACK = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

function readUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  // the message does not repeat the text, which may contain a password
  if (!url || !/^https?:$/.test(url.protocol)) throw usageError('--url must be http://host:port or https://host:port')
  if (url.username !== '' || url.password !== '')
    throw usageError('--url holds no name or password: see --as and --credentials')
  if (url.pathname !== '/' || url.search !== '') throw usageError('--url ends with the port')
  return url
}

async function askPair(
  { as: name = 'admin', flag = '--credentials' }: CredentialOptions,
  { host }: URL,
): Promise<string> {
  const what = `Password of the administrator ${name} at ${host}`
  return `${name}:${await readTypedSecret({ what, fromInput: false, flag, isNew: false })}`
}

/** `name:password` on the first line. */
function readPair(path: string, { cwd }: Context): string {
  const [line = ''] = readNamedFile(resolve(cwd, path)).split(/\r?\n/, 1)
  if (!line.includes(':')) throw commandError(`${path} does not hold name:password on its first line`)
  return line
}

/** The text of a file that the user has named; `shown`: its name in an error. */
export function readNamedFile(path: string, shown = path): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw commandError(`${shown} cannot be read: ${messageOf(error)}`)
  }
}
