/**
 * A service worker controls the folder of its script. One whose script is directly below `/` would control the pages of
 * /_cardea/ too, so a database must not deliver it.
 */
import { Refusal } from '../base/errors.ts'
import type { HeaderPair, RequestContext } from '../http/request-context.ts'

type Sent = Pick<RequestContext, 'header' | 'target'>

/** Throws if a browser asks for the script of a service worker that could control /_cardea/. */
export function requireNarrowWorker(context: Sent): void {
  if (context.header('service-worker') === undefined || !isBelowRoot(context.target)) return
  throw new Refusal('forbidden', { about: 'A service worker for / is not allowed: it would control /_cardea/.' })
}

/** Keeps a browser from using a script that it has cached for a page as that of a service worker. */
export function varyByWorker(
  headers: readonly HeaderPair[],
  status: number,
  { target }: Pick<Sent, 'target'>,
): readonly HeaderPair[] {
  if (!isBelowRoot(target) || (status !== NOT_MODIFIED && !hasScript(headers))) return headers
  return [...headers, ['Vary', 'Service-Worker']]
}

const isBelowRoot = (target: string): boolean => target.split(/[?#]/, 1)[0]?.lastIndexOf('/') === 0

/** A 304 has no content type, and its headers replace those of the cached response. */
const NOT_MODIFIED = 304

/** Browsers accept no other types for the script of a worker. */
const SCRIPT = /(?:java|ecma|live|j)script/i

const hasScript = (headers: readonly HeaderPair[]): boolean =>
  headers.some(([name, value]) => name.toLowerCase() === 'content-type' && SCRIPT.test(value))
