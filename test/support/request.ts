/** Requests to a running server. */
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'

export interface Request {
  /** `name:password` for Basic, or the whole value of `Authorization`. Anonymous unless given. */
  readonly as?: string
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** Text is sent as it is, any other value as JSON with its `Content-Type`. */
  readonly body?: unknown
}

export interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** Every line of each header. */
  readonly lines: NodeJS.Dict<string[]>
  readonly body: string
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of any shape
  readonly json: any
  /** Lines of one name joined with a newline. */
  header(name: string): string | undefined
}

export type RequestDetails = Omit<Request, 'method' | 'path'>

export type Ask = (method: string, path: string, details?: RequestDetails) => Promise<Reply>

export const basic = (name: string, password: string): string =>
  `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`
/** The administrator of `createTestCardea`. */
export const AS_ADMIN = basic('admin', 'adminpw')
export const ADMIN = { Authorization: AS_ADMIN }

export function send(base: string, { as, method = 'GET', path, headers = {}, body }: Request): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(base)
    const isJson = body !== undefined && typeof body !== 'string'
    const all = {
      ...(as && { Authorization: toAuthorization(as) }),
      ...(isJson && { 'Content-Type': 'application/json' }),
      ...headers,
    }
    const request = httpRequest({ hostname, port, method, path, headers: all, agent: false }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk) => chunks.push(chunk))
      response.on('end', () => {
        const reply = toReply(response, Buffer.concat(chunks).toString())
        checkApi({ method, path, body }, reply).then(() => resolve(reply), reject)
      })
    })
    request.on('error', reject).end(isJson ? JSON.stringify(body) : body)
  })
}

const API = '/_cardea/api'

/** Every response of the admin API, in any test, must be as its OpenAPI document describes it. */
async function checkApi({ method = 'GET', path, body }: Request, { status, headers, json }: Reply): Promise<void> {
  if (!path.startsWith(`${API}/`) || !headers['content-type']?.startsWith('application/json') || !json) return
  const { checkApiCall } = await import('./check-api.ts')
  const sent = typeof body === 'string' ? parse(body) : body
  checkApiCall({ method, path: path.slice(API.length), sent, status, received: json })
}

export const createAsk =
  (url: string): Ask =>
  (method, path, details) =>
    send(url, { method, path, ...details })

const toReply = (response: IncomingMessage, body: string): Reply => ({
  status: response.statusCode ?? 0,
  headers: response.headers,
  lines: response.headersDistinct,
  body,
  get json() {
    return parse(body)
  },
  header: (name) => response.headersDistinct[name]?.join('\n'),
})

/** `undefined` where the body is not JSON. */
function parse(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

function toAuthorization(as: string): string {
  if (/^(basic|bearer|digest)(\s|$)/i.test(as)) return as
  const colon = as.indexOf(':')
  if (colon < 0) throw new TypeError(`neither name:password nor a value of Authorization: ${as}`)
  return basic(as.slice(0, colon), as.slice(colon + 1))
}
