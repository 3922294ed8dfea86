/** Requests to a running server. */
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'

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
}

export const basic = (name: string, password: string): string =>
  `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`
/** The administrator of `createTestCardea`. */
export const AS_ADMIN = 'admin:adminpw'
export const ADMIN = { Authorization: basic('admin', 'adminpw') }

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
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          lines: response.headersDistinct,
          body: Buffer.concat(chunks).toString(),
        }),
      )
    })
    request.on('error', reject).end(isJson ? JSON.stringify(body) : body)
  })
}

function toAuthorization(as: string): string {
  if (/^(basic|bearer) /i.test(as)) return as
  const colon = as.indexOf(':')
  return basic(as.slice(0, colon), as.slice(colon + 1))
}
