/**
 * Pages of a database share their origin with Cardea's own paths. Without a policy of its own a page is sandboxed: its
 * script does not run, and it has no origin. What would let a page reach further than its own path is removed.
 */
import { createNameMemo } from '../base/name-memo.ts'
import type { HeaderPair } from '../http/request-context.ts'

const SANDBOX: HeaderPair = ['Content-Security-Policy', 'sandbox']

type Role = 'type' | 'policy' | 'reach' | 'other'

const ROLES: ReadonlyMap<string, Role> = new Map([
  ['content-type', 'type'],
  ['content-security-policy', 'policy'],
  // a service worker could see every page of the origin, those of /_cardea/ too
  ['service-worker-allowed', 'reach'],
  // a page with this policy keeps a handle of a page of /_cardea/ that it opens
  ['cross-origin-opener-policy', 'reach'],
])

const roleOf = createNameMemo((name) => ROLES.get(name.toLowerCase()) ?? 'other')

export function isolate(headers: readonly HeaderPair[], status: number): readonly HeaderPair[] {
  const types: string[] = []
  const policies: string[] = []
  let reaches = false
  for (const [name, value] of headers) {
    const role = roleOf(name)
    if (role === 'type') types.push(value)
    else if (role === 'policy') policies.push(value)
    else if (role === 'reach') reaches = true
  }
  const kept = reaches ? headers.filter(([name]) => roleOf(name) !== 'reach') : headers
  const isPage = !WITHOUT_BODY.has(status) && isActive(types.join(',')) && !restrictsScripts(policies)
  return isPage ? [SANDBOX, ...kept] : kept
}

const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 304])

/** Types that browsers show as a page that can run script, alone or in a frame. */
const ACTIVE = /^(?:text\/(?:html|xml|xsl)|application\/(?:xml|xslt)|[^/]+\/[^/]+\+xml|multipart\/x-mixed-replace)$/
/** Types for which browsers guess by the content, which may be HTML. */
const GUESSED = /^(?:(?:unknown|application)\/unknown)$/
const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/

/** Whether any of the types may be shown as a page. Browsers guess where there is no type, or one that is none. */
const isActive = (types: string): boolean =>
  types.split(',').some((type) => {
    const [name = ''] = type.split(';', 1)
    const plain = name.trim().toLowerCase()
    return !MEDIA_TYPE.test(plain) || ACTIVE.test(plain) || GUESSED.test(plain)
  })

const SCRIPT_DIRECTIVES: ReadonlySet<string> = new Set(['sandbox', 'default-src', 'script-src'])

/** A policy that says nothing of scripts does not count: ArangoDB sends one with every response. */
const restrictsScripts = (policies: readonly string[]): boolean =>
  policies
    .join(';')
    .split(/[;,]/)
    .some((directive) => SCRIPT_DIRECTIVES.has(directive.trim().split(/\s/, 1)[0]?.toLowerCase() ?? ''))
