/**
 * A service worker controls the folder of its script. One whose script is directly below `/` would control the pages of
 * /_cardea/ too, so a database must not deliver it.
 */
import { Refusal } from '../base/errors.ts'
import type { HeaderPair, RequestContext } from '../http/request-context.ts'

type Sent = Pick<RequestContext, 'header' | 'path'>

/** Throws if a browser asks for the script of a service worker that could control /_cardea/. */
export function requireNarrowWorker(context: Sent): void {
  if (context.header('service-worker') === undefined || !isBelowRoot(context)) return
  throw new Refusal('forbidden', { about: 'A service worker for / is not allowed: it would control /_cardea/.' })
}

/** Keeps a browser from using a script that it has cached for a page as that of a service worker. */
export function varyByWorker(
  headers: readonly HeaderPair[],
  status: number,
  context: Pick<Sent, 'path'>,
): readonly HeaderPair[] {
  if (!isBelowRoot(context) || (status !== NOT_MODIFIED && !hasScript(headers))) return headers
  return [...headers, ['Vary', 'Service-Worker']]
}

const isBelowRoot = ({ path }: Pick<Sent, 'path'>): boolean => path.raw.lastIndexOf('/') === 0

/** A 304 has no content type, and its headers replace those of the cached response. */
const NOT_MODIFIED = 304

/** Browsers accept no other types for the script of a worker. */
const SCRIPT = /(?:java|ecma|live|j)script/i

const hasScript = (headers: readonly HeaderPair[]): boolean =>
  headers.some(([name, value]) => name.toLowerCase() === 'content-type' && SCRIPT.test(value))
