// Requests to servers that the configuration names, and that may be wrong, slow or hostile.
import { readUtf8 } from './encoding.ts'
import { gatherBytes } from './gather-bytes.ts'

const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|\[::1\]|localhost)$/

/**
 * Whether the network cannot change what is sent: TLS, or a server on this machine. `source`: the URL of the document that
 * names it. Another machine must not choose to which servers of this one Cardea sends requests.
 */
export function isSecureUrl(text: string, source = ''): boolean {
  const url = URL.parse(text)
  if (url?.protocol !== 'http:') return url?.protocol === 'https:'
  return LOOPBACK.test(url.hostname) && URL.parse(source)?.protocol !== 'https:'
}

const TIMEOUT_MS = 5000
const MAX_BYTES = 524_288

/** `fetch` that follows no redirect, and reads at most `MAX_BYTES` within `TIMEOUT_MS`. Throws an `Error` that says why. */
export async function boundedFetch(url: string, init: RequestInit = {}): Promise<Response> {
  if (!isSecureUrl(url)) throw new Error(`${url} is neither https nor on a loopback address`)
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  try {
    const response = await fetch(url, { ...init, redirect: 'manual', signal })
    if (response.status >= 300 && response.status < 400) throw new Error('it redirects, which is not followed')
    const body = response.body ? await gatherBytes(response.body, MAX_BYTES) : Buffer.alloc(0)
    if (!body) throw new Error(`the response is longer than ${MAX_BYTES} bytes`)
    return new Response(body.length === 0 ? null : body, { status: response.status, headers: response.headers })
  } catch (error) {
    const why = signal.aborted ? `no complete response within ${TIMEOUT_MS / 1000} s` : reasonOf(error)
    throw new Error(`${new URL(url).origin}: ${why}`, { cause: error })
  }
}

/** `fetch` hides the reason in its cause. */
const reasonOf = (error: unknown): string =>
  error instanceof Error && error.cause instanceof Error ? error.cause.message || 'it cannot be reached' : String(error)

/** The text of a document. */
export async function fetchText(url: string): Promise<string> {
  const response = await boundedFetch(url, { headers: { accept: 'application/json' } })
  if (!response.ok) throw new Error(`${url}: status ${response.status}`)
  const text = readUtf8(new Uint8Array(await response.arrayBuffer()))
  if (text === undefined) throw new Error(`${url}: not UTF-8`)
  return text
}
