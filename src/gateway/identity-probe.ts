/**
 * Checks whether an upstream server accepts the identities that Cardea signs. A response of 400 or 401 may be about the
 * client's request or about Cardea's signature, and both look alike. So Cardea sends a probe of its own, whose response
 * depends only on the signature.
 */
import { readUtf8 } from '../base/encoding.ts'
import { gatherBytes } from '../base/gather-bytes.ts'
import { findMember, isJsonObject, readJson } from '../base/json.ts'
import { ADMIN_ROLE, ANONYMOUS, type Authenticated } from '../directory/identity.ts'
import type { UpstreamServer } from './connections.ts'
import type { ToIdentityHeaders } from './identity-headers.ts'

/** A request of Cardea's own, and the problem that its response may show. */
export interface Probe {
  readonly path: string
  /** Names and values in turn; `undefined`: identities are not signed now. */
  headers(): readonly string[] | undefined
  /** A status from 500 on with which the server may refuse it. Other such statuses say nothing. */
  readonly refusal?: number
  /** How a response shows the problem; `undefined`: it does not. */
  findReason(status: number, body: unknown): string | undefined
}

/** Shows that the server rejects the signature. */
export interface IdentityProbe extends Probe {
  /** Statuses of a response to a signed request that may mean that the signature was rejected. */
  readonly suspicious: ReadonlySet<number>
}

/**
 * Why this server, which responded with this status, rejects the signature; `undefined`: it accepts it, or that is not
 * known now. Without a promise, the status is not suspicious.
 */
export type CheckIdentity = (server: UpstreamServer, status: number) => Promise<string | undefined> | undefined

/** How long a result is reused: clients may cause any number of suspicious responses. */
const FRESH_MS = 1000
const TIMEOUT_MS = 5000
const MAX_BODY_BYTES = 16_384

export function createIdentityCheck(probe: IdentityProbe): CheckIdentity {
  const findings = new WeakMap<
    UpstreamServer,
    { readonly atMs: number; readonly reason: Promise<string | undefined> }
  >()
  return (server, status) => {
    if (!probe.suspicious.has(status)) return undefined
    const known = findings.get(server)
    if (known && performance.now() - known.atMs < FRESH_MS) return known.reason
    const reason = sendProbe(server, probe).catch(() => undefined)
    findings.set(server, { atMs: performance.now(), reason })
    return reason
  }
}

/** The problem that the probe finds; `undefined`: none. */
export async function sendProbe(server: UpstreamServer, probe: Probe): Promise<string | undefined> {
  const headers = probe.headers()
  if (headers === undefined) return undefined
  const { status, body } = await ask(server, probe.path, headers)
  if (status >= 500 && status !== probe.refusal) throw new UnusableResponse(`GET ${probe.path}: status ${status}`)
  return probe.findReason(status, body)
}

export class UnusableResponse extends Error {}

export interface OwnRequest {
  readonly path: string
  /** Sent as JSON. */
  readonly body?: unknown
  /** Left out: PUT with a body, GET without. */
  readonly method?: 'POST' | 'PUT' | 'DELETE'
  /** The longest response; 16 KiB if it is left out. */
  readonly maxBytes?: number
  /** 5 seconds if it is left out. */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
}

/** Sends a request of Cardea's own. The body is `undefined` if it is too large or not JSON. */
export async function ask(
  { connections }: UpstreamServer,
  request: string | OwnRequest,
  headers: readonly string[] = [],
) {
  const own: OwnRequest = typeof request === 'string' ? { path: request } : request
  const {
    path,
    body,
    method = body === undefined ? 'GET' : 'PUT',
    maxBytes = MAX_BODY_BYTES,
    timeoutMs = TIMEOUT_MS,
  } = own
  const timeout = AbortSignal.timeout(timeoutMs)
  const response = await connections.requests.request({
    path,
    method,
    signal: own.signal ? AbortSignal.any([own.signal, timeout]) : timeout,
    ...(body === undefined
      ? { headers: [...headers] }
      : { headers: [...headers, 'Content-Type', 'application/json'], body: JSON.stringify(body) }),
  })
  const bytes = await gatherBytes(response.body, maxBytes)
  const reading = readJson((bytes && readUtf8(bytes)) ?? '')
  const value = reading.kind === 'json' ? reading.value : undefined
  return { status: response.statusCode, body: value, isTooLarge: bytes === undefined }
}

/** The name the probes use. It needs no user in the database and gets no rights there. */
const PROBE_NAME = 'cardea-probe'

const PROBE_USER: Authenticated = Object.freeze({
  ...ANONYMOUS,
  identity: Object.freeze({ ...ANONYMOUS.identity, name: PROBE_NAME }),
})

const PROBE_SUPERUSER: Authenticated = Object.freeze({
  ...ANONYMOUS,
  identity: Object.freeze({ ...ANONYMOUS.identity, isSuperuser: true }),
})

/**
 * CouchDB shows in `/_session` which user a request has, and needs no user document for that. It responds with 400 or 401
 * to a token it rejects. A token or proxy header whose handler is not configured is ignored: then the name is missing.
 */
export const createDocumentProbe = (toIdentityHeaders: ToIdentityHeaders): IdentityProbe => ({
  suspicious: new Set([400, 401]),
  path: '/_session',
  headers: () => toIdentityHeaders(PROBE_USER).headers,
  findReason(status, body) {
    if (status !== 200) return `GET /_session with a signed identity: ${describeError(status, body)}`
    const name = findIn(findIn(body, 'userCtx'), 'name')
    return name === PROBE_NAME ? undefined : 'GET /_session with a signed identity: the identity is ignored'
  },
})

/**
 * CouchDB without administrators gives every client their rights, and so do proxy headers that it does not verify. The
 * arguments are the names of those that a proxy would send for an administrator, without the token that proves them.
 */
export function createDocumentOpenProbes(username: string, roles: string): readonly Probe[] {
  const createProbe = (what: string, headers: readonly string[]): Probe => ({
    path: '/_session',
    headers: () => headers,
    findReason(_status, body) {
      const given = findIn(findIn(body, 'userCtx'), 'roles')
      const isAdmin = Array.isArray(given) && given.includes(ADMIN_ROLE)
      return isAdmin ? `GET /_session ${what}: the role ${ADMIN_ROLE}` : undefined
    },
  })
  return [
    createProbe('without a credential', []),
    // CouchDB 3.5.2 responds with 500 where the token is missing
    { ...createProbe('with unsigned proxy headers', [username, PROBE_NAME, roles, ADMIN_ROLE]), refusal: 500 },
  ]
}

/** ArangoDB protects this path unless its authentication is off. */
export const MULTI_MODEL_OPEN_PROBES: readonly Probe[] = [
  {
    path: '/_api/version',
    headers: () => [],
    findReason: (status) => (status === 200 ? 'GET /_api/version without a credential: status 200' : undefined),
  },
]

/**
 * ArangoDB responds with 401 to a token it rejects, to a user it does not have and to a database the user may not enter. A
 * superuser token has neither user nor rights, so only its signature can be wrong.
 */
export const createMultiModelProbe = (
  toIdentityHeaders: ToIdentityHeaders,
  isSigned: () => boolean,
): IdentityProbe => ({
  suspicious: new Set([401]),
  path: '/_api/version',
  headers: () => (isSigned() ? toIdentityHeaders(PROBE_SUPERUSER).headers : undefined),
  findReason: (status, body) =>
    status === 401 ? `GET /_api/version with a superuser token: ${describeError(status, body)}` : undefined,
})

const REASONS = ['reason', 'errorMessage']

function describeError(status: number, body: unknown): string {
  const reason = REASONS.map((name) => findIn(body, name)).find((text) => typeof text === 'string')
  return reason === undefined ? `status ${status}` : `status ${status}, ${reason}`
}

const findIn = (value: unknown, name: string): unknown => (isJsonObject(value) ? findMember(value, name) : undefined)
