/**
 * Pages of a database have the same origin as Cardea's own paths. Such a page is sandboxed: its scripts do not run, and
 * it has no origin. Browsers apply every policy of a response, so a policy of the page's own cannot loosen the sandbox.
 * Headers that give a page access beyond its own path are removed.
 */
import { Refusal } from '../base/errors.ts'
import { createHeaderMemo } from '../base/header-memo.ts'
import type { HeaderPair, RequestContext } from '../http/request-context.ts'

const SANDBOX: HeaderPair = ['Content-Security-Policy', 'sandbox']

type Role = 'type' | 'policy' | 'reach' | 'other'

const ROLES: ReadonlyMap<string, Role> = new Map([
  ['content-type', 'type'],
  ['content-security-policy', 'policy'],
  // a service worker could read every page of the origin, including those of /_cardea/
  ['service-worker-allowed', 'reach'],
  // a page with this policy keeps a reference to a page of /_cardea/ that it opens
  ['cross-origin-opener-policy', 'reach'],
])

const roleOf = createHeaderMemo((name): Role => ROLES.get(name.toLowerCase()) ?? 'other')

export function isolate(headers: readonly HeaderPair[], status: number): readonly HeaderPair[] {
  const types: string[] = []
  const policies: string[] = []
  let hasReach = false
  for (const [name, value] of headers) {
    const role = roleOf(name)
    if (role === 'type') types.push(value)
    else if (role === 'policy') policies.push(value)
    else if (role === 'reach') hasReach = true
  }
  const kept = hasReach ? headers.filter(([name]) => roleOf(name) !== 'reach') : headers
  return mayShowPage(status, types, policies) && !policies.some(isSandbox) ? [SANDBOX, ...kept] : kept
}

/** Whether a browser may show a page with these headers, now or with a body that it has cached. */
function mayShowPage(status: number, types: readonly string[], policies: readonly string[]): boolean {
  if (CHANGES_CACHED.has(status) && policies.length > 0) return true
  if (status === 204 || (status === 304 && types.length === 0)) return false
  return isActive(types.join(','))
}

/** The policy of such a response replaces that of a cached page, whatever its own type; without one, the page's stays. */
const CHANGES_CACHED: ReadonlySet<number> = new Set([206, 304])

/** Types that browsers display as a page that can run scripts, alone or in a frame. */
const ACTIVE = /^(?:text\/(?:html|xml|xsl|rdf)|application\/(?:xml|xslt)|[^/]+\/[^/]+\+xml|multipart\/x-mixed-replace)$/
/** Types for which browsers sniff the content, which may be HTML. */
const GUESSED = /^(?:(?:unknown|application)\/unknown|application\/x-unknown-content-type)$/
const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/

/** Whether any of the types may be displayed as a page. Browsers sniff the content if the type is missing or invalid. */
const isActive = createHeaderMemo((types) =>
  types.split(',').some((type) => {
    const [name = ''] = type.split(';', 1)
    const plain = name.trim().toLowerCase()
    return !MEDIA_TYPE.test(plain) || ACTIVE.test(plain) || GUESSED.test(plain)
  }),
)

/** Whether one of the policies in the value has a sandbox without exceptions. Of several, browsers use the first. */
const isSandbox = (value: string): boolean =>
  value.split(',').some((policy) => {
    const directives = policy.split(';').map((directive) => directive.toLowerCase().match(WORDS) ?? [])
    return directives.find(([name]) => name === 'sandbox')?.length === 1
  })

/** `\s` would also split at characters that belong to a name, such as a no-break space. */
const WORDS = /[^\t\n\f\r ]+/g

type Sent = Pick<RequestContext, 'header' | 'path'>

/**
 * A service worker controls the folder of its script. One whose script is directly below `/` would control the pages of
 * /_cardea/ too, so a database must not deliver it. Throws if a browser asks for such a script.
 */
export function requireNarrowWorker(context: Sent): void {
  if (context.header('service-worker') === undefined || !isBelowRoot(context)) return
  throw new Refusal('forbidden', { reason: 'A service worker for / is not allowed: it would control /_cardea/.' })
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
