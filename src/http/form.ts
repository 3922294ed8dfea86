/** Reads a form of a page, and where the page asks to be redirected to. */
import { decodePercent } from '../base/encoding.ts'
import { badRequest } from '../base/errors.ts'
import type { Reply, RequestBody, RequestHead } from './request-context.ts'

export type Fields = ReadonlyMap<string, string>

export const isForm = (contentType = ''): boolean => /^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(contentType)

/** Pairs are separated by `&` or `;`. The first of two pairs with the same name counts. */
export async function readForm(context: RequestBody, maxBytes: number): Promise<Fields> {
  // quirk: the content encoding of a form is ignored
  const body = await context.readBody(maxBytes)
  const fields = new Map<string, string>()
  for (const pair of (body?.toString('latin1') ?? '').split(/[&;]/)) {
    const equals = pair.indexOf('=')
    const [name, value] = equals < 0 ? [pair, ''] : [pair.slice(0, equals), pair.slice(equals + 1)]
    const key = readFormText(name)
    if (!fields.has(key)) fields.set(key, readFormText(value))
  }
  return fields
}

function readFormText(text: string): string {
  const decoded = decodePercent(text.replaceAll('+', ' '))
  if (decoded === undefined) throw badRequest('the form is not percent-encoded UTF-8')
  return decoded
}

/** The path in the query parameter `next` or `fail`, ready for `Location`. Paths to other hosts are rejected. */
export function findRedirect(context: RequestHead, parameter: 'next' | 'fail'): string | undefined {
  const path = context.query.get(parameter)
  if (path === null) return undefined
  if (!path.startsWith('/')) throw badRequest('path must begin with a /.')
  if (!isOwnPath(path)) throw badRequest('path must be a path of this server.')
  return path.replace(/[^\x21-\x7e]+/g, (text) => encodeURIComponent(text))
}

/** Browsers read `//host` and `/\host` as another host, and drop control characters before they parse a URL. */
const OTHER_HOST = /^\/[/\\]|[\\\p{Cc}]/u

/** Whether a browser that gets this as a redirect stays at this server. */
export const isOwnPath = (path: string): boolean => path.startsWith('/') && !OTHER_HOST.test(path)

/** The body is sent too, for clients that do not follow redirects. */
export const redirectTo = (path: string | undefined, reply: Reply): Reply =>
  path === undefined ? reply : { ...reply, status: 302, headers: [...reply.headers, ['Location', path]] }
