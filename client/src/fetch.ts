import { type Credential, JSON_HEADERS } from './credential.ts'
import { now } from './platform.ts'
import type { SessionKeeper } from './session-keeper.ts'
import { watchBody } from './watch-body.ts'

export interface FetchDeps {
  readonly base: string
  readonly credential: Credential
  readonly keeper: SessionKeeper
  readonly fetch: typeof globalThis.fetch
  /** Whether requests wait when the session ends without a sign-out. */
  readonly waits: boolean
}

type Input = string | URL | Request

/**
 * `fetch` with the session. If the session ends without a sign-out, requests wait until the same user signs in again,
 * so that a replication pauses; without `waits` they end with 401. If another user signs in, or the user signs out, they
 * end with 401 in any case. Requests to other servers are sent unchanged.
 */
export const createSessionFetch =
  ({ base, credential, keeper, fetch, waits }: FetchDeps) =>
  async (input: Input, init?: RequestInit): Promise<Response> => {
    const url = new URL(input instanceof Request ? input.url : input, base)
    if (!url.href.startsWith(base)) return fetch(input, init)
    const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined)
    const send = () => sendOnce(input instanceof Request ? input.clone() : url, init, { credential, keeper })
    if (keeper.live === undefined) await keeper.renew().catch(() => {})
    const name = keeper.live?.session.name
    const isOfAnother = () => name !== undefined && name !== (keeper.live?.session.name ?? name)
    for (let isRepeated = false; ; isRepeated = true) {
      await keeper.renewIfDue()
      if (isOfAnother()) return toEnded()
      if (waits && keeper.isLost && !(await keeper.waitForSession(signal))) return toEnded()
      const [seen, sentAt] = [keeper.live, now()]
      const leftMs = (seen?.expiresAt ?? 0) - Date.now()
      const response = await send()
      if (response.status !== 401 || !seen || isStream(input, init)) return response
      const live = await keeper.check()
      // A feed without a change is rejected when the token or cookie that opened it expires. That is no reason to end
      // it, however often it happens. Half of the time tells this from a request that was rejected at once: clocks differ.
      const wasOpen = now() - sentAt > leftMs / 2
      if (live && isRepeated && !wasOpen) return response
      if (!live && !(waits && (await keeper.waitForSession(signal)))) return response
    }
  }

/** A stream can be sent only once. */
const isStream = (input: Input, init: RequestInit | undefined): boolean =>
  // React Native has no class of streams
  'getReader' in Object(init?.body) || (input instanceof Request && input.bodyUsed)

async function sendOnce(
  input: URL | Request,
  init: RequestInit | undefined,
  { credential, keeper }: Pick<FetchDeps, 'credential' | 'keeper'>,
): Promise<Response> {
  const request = keeper.begin()
  try {
    const response = await credential.send(input, init)
    if (response.status !== 401) request.accepted()
    return watchBody(response, () => request.end(false))
  } catch (error) {
    request.end(true)
    throw error
  }
}

/** The response of a server to a request without a credential, so that PouchDB ends a replication. */
const toEnded = (): Response =>
  new Response('{"error":"unauthorized","reason":"The session has ended."}', { status: 401, headers: JSON_HEADERS })
