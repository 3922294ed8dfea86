/**
 * Every kind of credential, and which of them each listener accepts. What a listener does not name is refused: a
 * credential of another kind is not read, and one with another limit leaves the request anonymous.
 */
import type { Authenticated, Credential, CredentialKind } from '../directory/identity.ts'
import {
  ACCESS_TOKEN,
  type CheckPassword,
  createBasicHandler,
  DOCUMENT_BASIC,
  MULTI_MODEL_BASIC,
  PASSWORD,
} from './basic.ts'
import { type BearerDeps, createBearerHandler, SUPERUSER_TOKEN } from './bearer.ts'
import { CERTIFICATE, CERTIFICATE_HANDLER, type CertificateDeps, createCertificateHandler } from './certificate.ts'
import type { DoorKnownHeaders } from './door-sign-in.ts'
import { EXTERNAL_TOKEN } from './external-token.ts'
import type { CredentialHandler } from './handler.ts'
import { FOREIGN_TOKEN, ISSUED_TOKEN } from './issued-token.ts'
import { createJwtHandler, EXTERNAL_JWT, type JwtDeps } from './jwt.ts'
import { createProxyHandler, PROXY_HEADERS, type ProxyDeps } from './proxy.ts'
import { ACCESS_TOKEN_SESSION, COOKIE_SESSION } from './session/account-session.ts'
import { CONSOLE_SESSION } from './session/console-session.ts'
import { ADMIN_COOKIE, SIGN_IN_COOKIE } from './session/own-cookie.ts'
import { type CookieSessions, createCookieHandler, SESSION_COOKIES } from './session/session-cookie.ts'
import { TOKEN_SESSION } from './session/token-session.ts'

/** How a credential can be valid for less than its user may do. */
const LIMITS = {
  /** An access token for some databases and services. */
  scope: ({ scope }: Credential) => scope !== undefined,
  /** A token for some paths. */
  paths: ({ allowedPaths }: Credential) => allowedPaths !== undefined,
} as const

type Limit = keyof typeof LIMITS

const LIMIT_NAMES = Object.keys(LIMITS) as readonly Limit[]

export interface AcceptedCredentials {
  readonly kinds: readonly CredentialKind[]
  /** The limits that are enforced there. */
  readonly limits: readonly Limit[]
}

const BASIC = [PASSWORD, ACCESS_TOKEN]
const COOKIES = [COOKIE_SESSION, TOKEN_SESSION]
const DOCUMENT_TOKENS = [EXTERNAL_JWT, ISSUED_TOKEN, EXTERNAL_TOKEN]
export const MULTI_MODEL_TOKENS = [ISSUED_TOKEN, FOREIGN_TOKEN, SUPERUSER_TOKEN, EXTERNAL_TOKEN]
const DOCUMENT = [...DOCUMENT_TOKENS, PROXY_HEADERS, ...COOKIES, ...BASIC, CERTIFICATE]
const MULTI_MODEL = [...MULTI_MODEL_TOKENS, ...BASIC, CERTIFICATE]

/**
 * A session that an access token opened is accepted where both cookies and tokens with limits are. It is not accepted for
 * the account API, because a page that has the cookie must not read or change the account, nor at the forward-auth
 * endpoint, because it must not open what is behind another proxy.
 *
 * `…Entry`: the open paths of other dialects at a door, while the door requires a credential on every path. A request to
 * the forward-auth endpoint comes from a proxy, so a certificate is that of the proxy and not of the user.
 */
export const ACCEPTED = {
  document: { kinds: [...DOCUMENT, ACCESS_TOKEN_SESSION], limits: ['scope'] },
  documentEntry: { kinds: [...DOCUMENT, ACCESS_TOKEN_SESSION], limits: [] },
  documentAccount: { kinds: DOCUMENT, limits: [] },
  documentAdminApi: { kinds: [...DOCUMENT_TOKENS, PROXY_HEADERS, ...BASIC, CERTIFICATE], limits: [] },
  documentForwardAuth: { kinds: [...DOCUMENT_TOKENS, PROXY_HEADERS, ...COOKIES, ...BASIC], limits: [] },
  multiModel: { kinds: MULTI_MODEL, limits: ['scope', 'paths'] },
  multiModelEntry: { kinds: MULTI_MODEL, limits: ['paths'] },
  multiModelAccount: { kinds: MULTI_MODEL, limits: [] },
  multiModelAdminApi: { kinds: MULTI_MODEL, limits: [] },
  multiModelForwardAuth: { kinds: [...MULTI_MODEL_TOKENS, ...BASIC], limits: [] },
  /** Decisions that a cache may keep: its key has the headers `Authorization` and `Cookie`, and no others. */
  cachedForwardAuth: { kinds: [...DOCUMENT_TOKENS, ...MULTI_MODEL_TOKENS, ...COOKIES, ...BASIC], limits: [] },
  adminEndpoint: { kinds: BASIC, limits: [] },
  console: { kinds: [CONSOLE_SESSION], limits: [] },
  signInPage: { kinds: COOKIES, limits: [] },
  /** `authenticate()` of the library, with the credentials of either door. */
  library: { kinds: [...DOCUMENT, ...MULTI_MODEL, ACCESS_TOKEN_SESSION], limits: ['scope'] },
  /** Changes of the user's own account, at routes of the library. */
  libraryAccount: { kinds: DOCUMENT, limits: [] },
} as const satisfies Readonly<Record<string, AcceptedCredentials>>

/** What the handlers of the document door read credentials with. */
export interface DocumentCredentialDeps extends CertificateDeps {
  readonly jwt: JwtDeps
  readonly proxy: ProxyDeps
  readonly cookies: CookieSessions
  readonly check: CheckPassword
  readonly knownHeaders: DoorKnownHeaders
}

/** In this order, unless `chttpd.authentication_handlers` names another one. */
export const createDocumentHandlers = (deps: DocumentCredentialDeps): readonly CredentialHandler[] => [
  createJwtHandler(deps.jwt),
  createProxyHandler(deps.proxy),
  createCookieHandler(deps.cookies),
  createBasicHandler(DOCUMENT_BASIC, deps.check, deps.knownHeaders),
  createCertificateHandler(deps),
]

/** Handlers of the document door that its option does not name. They are asked last. */
export const UNNAMED_HANDLERS: readonly UnnamedHandler[] = [{ name: CERTIFICATE_HANDLER, needs: 'client-ca' }]

interface UnnamedHandler {
  readonly name: string
  /** The option of `ssl` without which it is not asked. */
  readonly needs?: 'client-ca'
}

export interface MultiModelCredentialDeps extends CertificateDeps {
  readonly bearer: BearerDeps
  readonly check: CheckPassword
}

export const createMultiModelHandlers = (deps: MultiModelCredentialDeps): readonly CredentialHandler[] => [
  createBearerHandler(deps.bearer, deps.check),
  createBasicHandler(MULTI_MODEL_BASIC, deps.check),
  createCertificateHandler(deps),
]

/** Cookies that hold a credential: they are never forwarded, nor set by another server. */
export const CREDENTIAL_COOKIES: readonly string[] = [
  ...SESSION_COOKIES,
  ...ADMIN_COOKIE.names,
  ...SIGN_IN_COOKIE.names,
]

/** The handlers of a listener, and what it accepts of them. */
export interface AcceptedHandlers extends AcceptedCredentials {
  readonly handlers: readonly CredentialHandler[]
}

export const selectHandlers = (
  handlers: readonly CredentialHandler[],
  accepted: AcceptedCredentials,
): AcceptedHandlers => ({
  ...accepted,
  handlers: handlers.filter(({ kinds }) => kinds.some((kind) => accepted.kinds.includes(kind))),
})

/** For a credential that another listener has accepted. */
export const isAccepted = ({ credential }: Authenticated, accepted: AcceptedCredentials): boolean =>
  credential !== undefined && checkAccepted(credential, accepted) === undefined

/** Why the credential is not accepted. */
export function checkAccepted(credential: Credential, { kinds, limits }: AcceptedCredentials): string | undefined {
  if (!kinds.includes(credential.kind)) return `this kind of credential (${credential.kind.name}) is not accepted here`
  const limit = LIMIT_NAMES.find((name) => LIMITS[name](credential) && !limits.includes(name))
  return limit && `a credential with limits (${limit}) is not accepted here`
}
