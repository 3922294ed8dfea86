/** The routes for sign-up, sign-in and the user's own account, mounted at a path of another program. */
import { IncomingMessage } from 'node:http'
import { ACCOUNT_PREFIX } from '../base/own-paths.ts'
import { isForm } from '../http/form.ts'
import type { App, DoorName } from '../wiring/app.ts'
import { checkOptions } from './arguments.ts'
import { requirePeer } from './requests.ts'
import { fetchFrom } from './web-request.ts'

export interface FetchOptions {
  readonly peer: string
  /** Where your program mounts the routes; `/_cardea/account` by default. */
  readonly path?: string
  /** Serve this door instead. */
  readonly door?: DoorName
}

export async function fetchDoor(app: App, request: Request, options: FetchOptions): Promise<Response> {
  app.requireOpen()
  if (!(request instanceof Request)) throw new TypeError('fetch takes a Request of the web platform')
  if (request.bodyUsed)
    throw new TypeError('fetch takes a Request whose body is unread: give request.clone() to others')
  checkOptions(options, 'fetch', ['peer', 'path', 'door'] satisfies (keyof FetchOptions)[])
  const peer = requirePeer(options?.peer, 'fetch')
  const { door, path: mounted = ACCOUNT_PREFIX } = options
  if (typeof mounted !== 'string' || !mounted.startsWith('/'))
    throw new TypeError("path must be the path where your program mounts the routes: '/account'")
  const { pathname, search } = new URL(request.url)
  if (door) return fetchFrom(request, { peer, path: pathname + search, serve: (...pair) => app.handle(...pair, door) })
  const below = findBelow(pathname, mounted)
  if (below === undefined) return Response.json({ error: 'not_found', reason: 'Not found.' }, { status: 404 })
  const path = `${ACCOUNT_PREFIX}${below}${search}`
  return fetchFrom(request, { peer, path, serve: (...pair) => app.handle(...pair, 'account') })
}

/** The rest of a path below another, beginning with a slash; empty: it is the path itself. */
function findBelow(path: string, mounted: string): string | undefined {
  const base = mounted.replace(/\/+$/, '')
  if (!path.startsWith(base)) return undefined
  const rest = path.slice(base.length)
  return rest === '' || rest.startsWith('/') ? rest.replace(/^\/$/, '') : undefined
}

/** A request of Express, whose URL begins below the path of the router. A body parser may have read its body. */
export function toAccountRequest(request: IncomingMessage & { readonly body?: unknown }): IncomingMessage {
  const path = `${ACCOUNT_PREFIX}${(request.url ?? '').replace(/^\/(?=\?|$)/, '')}`
  const parsed = findParsedBody(request)
  const incoming = parsed ? withBody(request, parsed) : request
  incoming.url = path
  return incoming
}

/** The body as a client sends it. */
function toText(body: unknown, contentType: string | undefined): string {
  if (typeof body === 'string') return body
  // a parser of forms gives texts by name
  return isForm(contentType) ? String(new URLSearchParams(body as Record<string, string>)) : JSON.stringify(body)
}

/** What a body parser has read; `undefined`: none has. */
export function findParsedBody(request: IncomingMessage & { readonly body?: unknown }): Buffer | undefined {
  const { body, readableDidRead, headers } = request
  if (!readableDidRead || body === undefined) return undefined
  return Buffer.isBuffer(body) ? body : Buffer.from(toText(body, headers['content-type']))
}

function withBody(request: IncomingMessage, body: Buffer): IncomingMessage {
  const { 'transfer-encoding': _coding, ...headers } = request.headers
  const copy = new IncomingMessage(request.socket)
  const { method, httpVersion, httpVersionMajor, httpVersionMinor, rawHeaders, headersDistinct } = request
  Object.assign(copy, { method, httpVersion, httpVersionMajor, httpVersionMinor, rawHeaders, headersDistinct })
  copy.headers = { ...headers, 'content-length': String(body.length) }
  copy.push(body)
  copy.push(null)
  copy.complete = true
  return copy
}
