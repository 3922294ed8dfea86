/**
 * Connections to identity providers for the sign-in of browsers: the endpoints of each, as `openid-client` uses them, and
 * how many requests to one run at the same time.
 */
import type * as OpenId from 'openid-client'
import { boundedFetch } from '../../base/bounded-fetch.ts'
import { MONOTONIC_CLOCK } from '../../base/clock.ts'
import { messageOf, Refusal } from '../../base/errors.ts'
import { JobQueue } from '../../base/job-queue.ts'
import { findMember } from '../../base/json.ts'
import { toPeerKey } from '../../base/peer-key.ts'
import { fetchDiscovery } from './keys.ts'
import type { Provider } from './provider.ts'

const KEPT_MS = 600_000
const PAUSE_MS = 5000

/** The endpoints of each provider. They are fetched again after a while, and after a failure not at once. */
export function rememberConnections(clock = MONOTONIC_CLOCK) {
  const known = new Map<string, { readonly connection: ReturnType<typeof connectTo>; untilMs: number }>()
  return async (provider: Provider) => {
    const last = known.get(provider.name)
    if (last && clock.nowMs() < last.untilMs) return last.connection
    const entry = { connection: connectTo(provider), untilMs: clock.nowMs() + KEPT_MS }
    known.set(provider.name, entry)
    entry.connection.catch(() => {
      entry.untilMs = clock.nowMs() + PAUSE_MS
    })
    return entry.connection
  }
}

async function connectTo({ name, rules, client }: Provider) {
  if (!client) throw new TypeError(`[provider:${name}] has no client`)
  // loaded when a browser first signs in this way
  const openid = await import('openid-client')
  const discovery = await fetchDiscovery(client.place).catch((error: unknown) => {
    throw unavailable(`[provider:${name}] ${messageOf(error)}`)
  })
  const server = toMetadata(discovery, name)
  const isForTenants = !client.place.issuers.includes(server.issuer)
  const config = await openid.discovery(
    isForTenants ? ENTRA_ID : new URL(server.issuer),
    rules.clientId,
    { [openid.clockTolerance]: rules.skewSeconds },
    authenticateClient(openid, client.secret, server),
    // `boundedFetch` accepts plain HTTP on loopback only
    { [openid.customFetch]: async () => Response.json(server), execute: [openid.allowInsecureRequests] },
  )
  config[openid.customFetch] = fetchBounded
  return { openid, config }
}

/**
 * For a document of this server with {tenantid} in its issuer, `openid-client` requires that the issuer of an ID token is
 * that text with the `tid` of the same token. Other clouds of Entra ID have other addresses and the same documents.
 */
const ENTRA_ID = new URL('https://login.microsoftonline.com/organizations/v2.0')

type Discovery = Awaited<ReturnType<typeof fetchDiscovery>>

/** Checks what `openid-client` uses without a check. A page for signing out that browsers cannot open counts as none. */
function toMetadata({ document, isEndpoint }: Discovery, name: string): OpenId.ServerMetadata {
  for (const member of ['authorization_endpoint', 'token_endpoint'])
    if (!isEndpoint(findMember(document, member)))
      throw unavailable(`[provider:${name}] its discovery document: ${member} is missing or not https`)
  const methods = findMember(document, 'token_endpoint_auth_methods_supported') ?? []
  if (!Array.isArray(methods))
    throw unavailable(`[provider:${name}] its discovery document: token_endpoint_auth_methods_supported is not a list`)
  const { end_session_endpoint: end, ...others } = document
  // checked above as far as Cardea uses it; `openid-client` checks the rest
  return { ...others, ...(isEndpoint(end) && { end_session_endpoint: end }) } as unknown as OpenId.ServerMetadata
}

/** The types of `openid-client` and of Node name the same kinds of bodies differently. */
const fetchBounded: OpenId.CustomFetch = async (url, { body, headers, method }) =>
  boundedFetch(url, { body, headers, method } as RequestInit).catch((error: unknown) => {
    throw unavailable(messageOf(error))
  })

function authenticateClient(openid: typeof OpenId, secret: string, server: OpenId.ServerMetadata): OpenId.ClientAuth {
  if (secret === '') return openid.None()
  const isPosted = server.token_endpoint_auth_methods_supported?.includes('client_secret_post') ?? false
  return isPosted ? openid.ClientSecretPost(secret) : openid.ClientSecretBasic(secret)
}

/** Responses of one provider that are checked with it at the same time, and that wait for it. */
const MAX_RUNNING = 64
const MAX_WAITING = 256

/**
 * Clients take turns by their addresses, as for passwords: one that invents responses delays only its own. Each of the
 * processes that serve has its share of the places.
 */
export function createRunningLimit(processes = 1) {
  const [jobs, waiting] = [MAX_RUNNING, MAX_WAITING].map((all) => Math.ceil(all / processes)) as [number, number]
  const queues = new Map<string, JobQueue>()
  return <T>(provider: string, { peer, signal }: ResponseSender, work: () => Promise<T>): Promise<T> => {
    const queue = queues.get(provider) ?? new JobQueue({ jobs, queue: () => waiting })
    queues.set(provider, queue)
    return queue.run(work, { lane: toPeerKey(peer) ?? peer, signal })
  }
}

/** The client that sends the response of a provider. */
export interface ResponseSender {
  readonly peer: string
  /** Aborted when the client disconnects. */
  readonly signal?: AbortSignal | undefined
}

export const unavailable = (detail: string): Refusal =>
  new Refusal('provider_unavailable', { detail, retryAfterSeconds: 5 })
