// Distinguishes browsers from programs, and pages that the user opened from other requests of a browser. Browsers send
// `Sec-Fetch-*` over TLS and to loopback addresses, and no script can set them.
import type { RequestContext } from '../../http/request-context.ts'

/** Shows that a request comes from a page that was delivered to a navigation. */
export const PAGE_TOKEN_HEADER = 'x-cardea-page-token'

type Sent = Pick<RequestContext, 'header'>

/** Whether a browser sent the request. It may add a remembered Basic password to the request of any page. */
export const isFromBrowser = (sent: Sent): boolean =>
  sent.header('sec-fetch-site') !== undefined || sent.header('origin') !== undefined

/** Whether the response becomes a page in a window of its own: no script of another page can read it. */
export const isTopLevelNavigation = (sent: Sent): boolean =>
  sent.header('sec-fetch-dest') === 'document' && sent.header('sec-fetch-mode') === 'navigate'

/** The first is the standard one, the others are those of older browsers. */
export const PURPOSE_HEADERS: readonly string[] = ['Sec-Purpose', 'Purpose', 'X-Purpose', 'X-Moz']

/** Whether a browser loads the response ahead of a navigation that may never happen. */
export const isPrefetch = (sent: Sent): boolean =>
  PURPOSE_HEADERS.some((name) => /\b(?:prefetch|preview)\b/i.test(sent.header(name) ?? ''))

/** Sent with the request that a browser makes for a service worker while it starts: the worker can read the response. */
export const PRELOAD_HEADER = 'Service-Worker-Navigation-Preload'

/** Whether a service worker gets the response. A script cannot leave the header out, but chooses its value. */
export const isPreload = (sent: Sent): boolean => sent.header(PRELOAD_HEADER) !== undefined

/** Whether browsers send `Sec-Fetch-*` to this address. */
export const isTrustworthy = ({ client }: Pick<RequestContext, 'client'>): boolean =>
  client.scheme === 'https' || LOOPBACK_HOST.test(client.host)

const LOOPBACK_HOST = /^(?:localhost|[\w-]+(?:\.[\w-]+)*\.localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i
