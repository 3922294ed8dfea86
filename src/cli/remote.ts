// A running server: how it is named and reached, and the admin API's requests to it.
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { messageOf } from '../base/errors.ts'
import { isJsonObject, readJson } from '../base/json.ts'
import { type Context, EXIT, ExitError } from './context.ts'
import { loadCa, readBody, send } from './http-client.ts'
import { readSecret } from './passwords.ts'

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

/** Rejects as `send` does. */
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

export interface RemoteOptions {
  readonly url?: string
  readonly as?: string
  readonly credentials?: string
  readonly ca?: string
}

/** The server of `--url` and the credential for it; `undefined` without `--url`. */
export async function readRemote(context: Context, options: RemoteOptions): Promise<Server | undefined> {
  if (options.url === undefined) return undefined
  const url = readUrl(options.url)
  const ca = loadCa(context, options.ca)
  return { kind: 'url', url, ca, authorization: await readAuthorization(context, url, options) }
}

export interface CredentialOptions {
  readonly as?: string
  readonly credentials?: string
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
  if (!url || !/^https?:$/.test(url.protocol)) throw usage('--url must be http://host:port or https://host:port')
  if (url.username !== '' || url.password !== '')
    throw usage('--url holds no name or password: see --as and --credentials')
  if (url.pathname !== '/' || url.search !== '') throw usage('--url ends with the port')
  return url
}

const usage = (message: string): ExitError => new ExitError(EXIT.usage, message)

async function askPair(
  { as: name = 'admin', flag = '--credentials' }: CredentialOptions,
  { host }: URL,
): Promise<string> {
  const what = `Password of the administrator ${name} at ${host}`
  return `${name}:${await readSecret({ what, fromInput: false, flag, isNew: false })}`
}

/** `name:password` on the first line. */
function readPair(path: string, { cwd }: Context): string {
  const [line = ''] = readWhole(resolve(cwd, path)).split(/\r?\n/, 1)
  if (!line.includes(':')) throw new ExitError(EXIT.failed, `${path} does not hold name:password on its first line`)
  return line
}

function readWhole(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new ExitError(EXIT.failed, `${path} cannot be read: ${messageOf(error)}`)
  }
}
