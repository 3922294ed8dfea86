// How one shows at the document door who one is: its handlers in their order, and the sessions behind its cookie.

import { authenticate } from '../auth/authenticate.ts'
import { createBasicHandler } from '../auth/basic.ts'
import type { CredentialHandler } from '../auth/handler.ts'
import { createJwtHandler, type JwtDeps } from '../auth/jwt.ts'
import { createProxyHandler, isProxyToken, type ProxyHeaderNames } from '../auth/proxy.ts'
import { createSignInObserver } from '../auth/record-sign-ins.ts'
import { createAccountSessions } from '../auth/session/account-session.ts'
import {
  COOKIE_HANDLER,
  type CookieSessions,
  createCookieHandler,
  findSession,
} from '../auth/session/cookie-handler.ts'
import { createSessionService, openTokenSession } from '../auth/session/session-service.ts'
import { createTokenSessions } from '../auth/session/token-session.ts'
import { SYSTEM_CLOCK } from '../base/clock.ts'
import { deriveLive } from '../base/live.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import { toWireNames } from '../config/names.ts'
import type { Config } from '../config/options.ts'
import { DOCUMENT_BASIC } from '../dialects/document/basic.ts'
import type { SessionService } from '../dialects/document/session.ts'
import type { Authenticated } from '../directory/identity.ts'
import type { RequestContext } from '../http/request-context.ts'
import { readRolesPath } from '../keys/claims.ts'
import { findKeyVersion } from '../keys/jwt-keys.ts'
import { followCookieTimeout } from '../live-config/cookie-secret.ts'
import type { DoorParts } from './doors.ts'

export interface DocumentCredentials {
  identify(context: RequestContext): MaybePromise<Authenticated>
  /** The same without the cookie of this door, which counts at no other dialect's paths. */
  identifyWithoutCookie(context: RequestContext): MaybePromise<Authenticated>
  /** The same for a request that was let in before. Records no sign-in. */
  identifyAgain(context: RequestContext): MaybePromise<Authenticated>
  /** Whether this handler is one of those that are asked now. */
  isAsked(handler: string): boolean
  readonly sessions: SessionService
}

type Parts = Pick<
  DoorParts,
  'liveConfig' | 'directory' | 'signIn' | 'check' | 'jwtKeys' | 'cookieSecrets' | 'sessionSettings'
>

export function createDocumentCredentials(parts: Parts): DocumentCredentials {
  const base = createBase(parts)
  const cookies = createCookieSessions(parts)
  const catalogue = createCatalogue(parts, base, cookies)
  const handlers = deriveLive(parts.liveConfig, ({ settings }) =>
    settings.values.chttpd.authentication_handlers.flatMap((name) => catalogue.get(name) ?? []),
  )
  const others = deriveLive(handlers, (all) => all.filter(({ name }) => name !== COOKIE_HANDLER))
  const observer = createSignInObserver(parts.liveConfig.events)
  return {
    identify: (context) => authenticate(context, handlers.get(), observer),
    identifyWithoutCookie: (context) => authenticate(context, others.get(), observer),
    identifyAgain: (context) => authenticate(context, handlers.get()),
    isAsked: (handler) => handlers.get().some(({ name }) => name === handler),
    sessions: createDocumentSessions(parts, cookies),
  }
}

type Base = ReturnType<typeof createBase>

const createBase = ({ liveConfig }: Parts) => ({
  headers: deriveLive(liveConfig, ({ settings }) => toHeaderNames(settings.values)),
  claims: deriveLive(liveConfig, ({ settings }) => toClaimRules(settings.values)),
})

function toHeaderNames(config: Config): ProxyHeaderNames {
  const names = toWireNames(config)
  return { username: names.userNameHeader, roles: names.rolesHeader, token: names.tokenHeader }
}

function toClaimRules(config: Config): ReturnType<JwtDeps['rules']> {
  const { required_claims: required, roles_claim_path: path } = config.jwt_auth
  return {
    required,
    roles: path === '' ? { kind: 'claim', name: toWireNames(config).rolesClaim } : readRolesPath(path),
  }
}

function createCookieSessions({
  liveConfig,
  directory,
  cookieSecrets,
  sessionSettings,
  jwtKeys,
}: Parts): CookieSessions {
  const deps = {
    secrets: cookieSecrets,
    directory,
    settings: sessionSettings.get,
    timeouts: followCookieTimeout(liveConfig, () => sessionSettings.get().timeoutSeconds),
    findKeyVersion: (algorithm: string, kid: string | undefined) => findKeyVersion(jwtKeys.get(), algorithm, kid),
    clock: SYSTEM_CLOCK,
  }
  return { accounts: createAccountSessions(deps), tokens: createTokenSessions(deps) }
}

function createCatalogue(parts: Parts, { headers, claims }: Base, cookies: CookieSessions) {
  const { liveConfig, directory, check, jwtKeys, cookieSecrets, sessionSettings } = parts
  const handlers: readonly CredentialHandler[] = [
    createJwtHandler({
      keys: jwtKeys.get,
      rules: claims.get,
      isForeignTokenLive: directory.isForeignTokenLive,
      clock: SYSTEM_CLOCK,
    }),
    createProxyHandler({
      names: headers.get,
      usesSecret: () => liveConfig.get().settings.values.chttpd_auth.proxy_use_secret,
      isToken: (name, token) => {
        const secret = cookieSecrets.current()
        const { algorithms } = sessionSettings.get()
        return isProxyToken(token, name, { secrets: secret ? [secret] : [], algorithms })
      },
      // the headers are about this moment: sessions that ended earlier do not matter
      isActive: (name) => directory.isForeignTokenLive({ name, issuedAt: 'now' }),
    }),
    createCookieHandler(cookies),
    createBasicHandler(DOCUMENT_BASIC, check),
  ]
  return new Map(handlers.map((handler) => [handler.name, handler]))
}

function createDocumentSessions(parts: Parts, cookies: CookieSessions): SessionService {
  const { events } = parts.liveConfig
  const service = createSessionService({ ...parts, accounts: cookies.accounts, events, endpoint: '_session' })
  return {
    signIn: ({ name, password, token }, context) => service.open({ name, password, code: token }, context),
    openForToken: (authenticated) => openTokenSession(authenticated, { tokens: cookies.tokens, events }),
    async end(context) {
      // the cookie is revoked even if another credential decided the identity of the request
      const session = context.authenticated?.session ?? (await findSession(context, cookies))?.session
      if (session) await service.end(session)
    },
  }
}
