// What shows whether each database accepts the identities that Cardea signs.
import { findMember, isJsonObject } from '../base/json.ts'
import { ANONYMOUS, type Authenticated } from '../directory/identity.ts'
import type { IdentityProbe } from './identity-check.ts'
import type { ToIdentityHeaders } from './identity-headers.ts'

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
 * CouchDB tells in `/_session` who it takes the request for, and needs no user document for that. It answers 400 or 401
 * to a token it rejects. A token or proxy header whose handler is not configured is ignored: then the name is missing.
 */
export const createDocumentProbe = (toIdentityHeaders: ToIdentityHeaders): IdentityProbe => ({
  suspicious: new Set([400, 401]),
  path: '/_session',
  headers: () => toIdentityHeaders(PROBE_USER).headers,
  findReason(status, body) {
    if (status >= 500) return undefined
    if (status !== 200) return `GET /_session with a signed identity: ${describeError(status, body)}`
    const name = findIn(findIn(body, 'userCtx'), 'name')
    return name === PROBE_NAME ? undefined : 'GET /_session with a signed identity: the identity is ignored'
  },
})

/**
 * ArangoDB answers 401 to a token it rejects, to a user it does not have and to a database the user may not enter. A
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
