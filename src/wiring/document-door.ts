// Builds the document door: its dialect, its credential handlers and its upstream.

import { authenticate } from '../auth/authenticate.ts'
import { createBasicHandler } from '../auth/basic.ts'
import { createIssuedTokenCheck } from '../auth/bearer.ts'
import { createCertificateHandler } from '../auth/certificate.ts'
import { ACCEPTED, type AcceptedCredentials, selectHandlers } from '../auth/credential.ts'
import type { CredentialHandler } from '../auth/handler.ts'
import { createJwtHandler } from '../auth/jwt.ts'
import { createProxyHandler, isProxyToken } from '../auth/proxy.ts'
import { createSignInObserver } from '../auth/record-sign-ins.ts'
import { createRequirePassword } from '../auth/require-password.ts'
import { type CookieSessions, createCookieHandler, findSession } from '../auth/session/cookie-handler.ts'
import { createSessionService, openTokenSession, type SessionServiceDeps } from '../auth/session/session-service.ts'
import { SYSTEM_CLOCK } from '../base/clock.ts'
import { deriveLive, type Live } from '../base/live.ts'
import { PRODUCT } from '../base/product.ts'
import { listDigests } from '../config/auth-codecs.ts'
import { isOwnSetting } from '../config/compatibility.ts'
import type { Config } from '../config/options.ts'
import { findNearestSection } from '../config/problems.ts'
import { DOCUMENT_BASIC } from '../dialects/document/basic.ts'
import type { DocumentDeps, DocumentSettings } from '../dialects/document/deps.ts'
import { createDocumentDialect } from '../dialects/document/dialect.ts'
import { renewingHeaders, SESSION_ENDPOINT } from '../dialects/document/session.ts'
import { createRequireEntry } from '../dialects/document/steps.ts'
import type { UsersDeps } from '../dialects/document/users/deps.ts'
import { toIdPrefix } from '../dialects/document/users/id.ts'
import { createUserChanges } from '../dialects/document/users/user-changes.ts'
import { mountForwardAuth } from '../dialects/forward-auth/routes.ts'
import { isMounted } from '../dialects/own-paths.ts'
import type { Authenticated } from '../directory/identity.ts'
import type { Mount } from '../http/dispatch.ts'
import { createDoor, type Door } from '../http/door.ts'
import type { Dialect, RequestContext } from '../http/request-context.ts'
import { createSettingsService } from '../live-config/settings-service.ts'
import { mountAdminApi } from './admin-door.ts'
import { createRevalidation, type DoorParts, toBearerDeps, toDoorOptions } from './door-parts.ts'
import { createDocumentUpstream } from './gateway.ts'
import {
  listHandlers,
  toClaimRules,
  toDocumentDoorLimits,
  toDocumentSettings,
  toProxyHeaderNames,
  toUsersSettings,
} from './settings.ts'

export function createDocumentDoor(parts: DoorParts): Door {
  const { liveConfig, gateway } = parts
  const config = deriveLive(liveConfig, ({ settings }) => settings.values)
  const settings = deriveLive(liveConfig, (snapshot) => toDocumentSettings(snapshot.settings))
  const credentials = createCredentials(parts)
  const own = credentials.createIdentify(ACCEPTED.document)
  const { confirm, revalidate } = createRevalidation(parts, {
    identify: own.authenticateAgain,
    isConfigured: credentials.isConfigured,
    dialect: () => dialect,
  })
  const dialect: Dialect = {
    ...createDocumentDialect({
      ...createDialectOptions(parts, config.get()),
      settings: settings.get,
      authenticate: gateway.withStreamEpoch(own.authenticate),
      ...credentials.session,
      upstream: createDocumentUpstream({ ...parts, config, revalidate }),
    }),
    confirmCredential: confirm,
  }
  return createDoor({
    ...toDoorOptions(parts, 'document'),
    dialect,
    mounts: createMounts(parts, credentials, settings),
    limits: deriveLive(liveConfig, (snapshot) => toDocumentDoorLimits(snapshot.settings)),
    tracing: parts.tracing,
  })
}

/** The paths at this door that belong to other dialects. */
function createMounts(
  parts: DoorParts,
  { createIdentify, isConfigured }: ReturnType<typeof createCredentials>,
  settings: Live<DocumentSettings>,
): readonly Mount[] {
  const requireEntry = createRequireEntry(settings.get, createIdentify(ACCEPTED.documentEntry).authenticate)
  return [
    mountAdminApi(parts, { ...createIdentify(ACCEPTED.documentAdminApi), isConfigured, requireEntry }),
    ...mountForwardAuth({
      ...parts.forwardAuth,
      authenticate: createIdentify(ACCEPTED.documentForwardAuth).authenticate,
      requireEntry,
      // a session that is used only through the forward-auth endpoint is renewed too
      doorHeaders: (context, reply) => renewingHeaders(context, reply, { settings: settings.get, clock: SYSTEM_CLOCK }),
    }),
  ]
}

function createDialectOptions(parts: DoorParts, { document }: Config) {
  const users = createUsersDeps(parts)
  return {
    name: document.name,
    version: document.version,
    product: PRODUCT,
    checkHealth: parts.checkHealth,
    clock: SYSTEM_CLOCK,
    node: createNodeDeps(parts, users),
    users,
    isMounted,
  }
}

function createUsersDeps(parts: DoorParts): UsersDeps {
  const { liveConfig, directory } = parts
  const config = () => liveConfig.get().settings.values
  const { document, chttpd_auth } = config()
  return {
    database: chttpd_auth.authentication_db,
    prefix: toIdPrefix(document.name),
    directory,
    changes: createUserChanges(liveConfig.kernel.store),
    settings: () => toUsersSettings(config()),
    requirePassword: createRequirePassword(parts.passwordProof, DOCUMENT_BASIC),
    signUp: parts.signUp,
    uuid: () => config().couchdb.uuid,
    clock: SYSTEM_CLOCK,
  }
}

const createNodeDeps = (
  { liveConfig, directory }: DoorParts,
  { requirePassword }: UsersDeps,
): DocumentDeps['node'] => ({
  nodeName: liveConfig.get().settings.values.node.name,
  configuration: createSettingsService(liveConfig),
  administrators: directory,
  isOwnSetting,
  isMisspelt: (section) => findNearestSection(section) !== undefined,
  requirePassword,
  supportedHashes: listDigests,
})

/** The credential handlers in their configured order, and the sessions of the cookie. */
function createCredentials(parts: DoorParts) {
  const { liveConfig, signIn, directory, cookies, recorder } = parts
  const { events } = liveConfig.kernel
  const byName = new Map<string, CredentialHandler>(createHandlers(parts).map((handler) => [handler.name, handler]))
  const handlers = deriveLive(liveConfig, ({ settings }) =>
    listHandlers(settings.values).flatMap((name) => byName.get(name) ?? []),
  )
  const observer = createSignInObserver(events, recorder)
  return {
    /** For the door itself, or for a dialect that is mounted at it. */
    createIdentify(accepted: AcceptedCredentials) {
      const selected = deriveLive(handlers, (all) => selectHandlers(all, accepted))
      return {
        authenticate: (context: RequestContext) => authenticate(context, selected.get(), observer),
        /** For a request that was accepted before. Records no sign-in. */
        authenticateAgain: (context: RequestContext) => authenticate(context, selected.get()),
      }
    },
    /** Whether the handler is configured now. */
    isConfigured: (handler: string) => handlers.get().some(({ name }) => name === handler),
    session: createSessionDeps(cookies, { signIn, directory, events, recorder, clock: SYSTEM_CLOCK }),
  }
}

type SessionParts = Omit<SessionServiceDeps, 'accounts' | 'endpoint'> & Pick<DoorParts, 'directory'>

const createSessionDeps = (cookies: CookieSessions, parts: SessionParts) => ({
  sessions: createSessionService({ ...parts, accounts: cookies.accounts, endpoint: SESSION_ENDPOINT }),
  openForToken: (authenticated: Authenticated, context: RequestContext) =>
    openTokenSession(authenticated, context, { ...parts, tokens: cookies.tokens }),
  findCookieSession: async (context: RequestContext) => (await findSession(context, cookies))?.credential.session,
})

function createHandlers(parts: DoorParts): readonly CredentialHandler[] {
  const { liveConfig, directory, check, knownHeaders, jwtKeys, cookieSecrets, sessionSettings, cookies } = parts
  const headers = deriveLive(liveConfig, ({ settings }) => toProxyHeaderNames(settings.values))
  const claims = deriveLive(liveConfig, ({ settings }) => toClaimRules(settings.values))
  return [
    createJwtHandler({
      keys: jwtKeys.get,
      rules: claims.get,
      directory,
      findIssued: createIssuedTokenCheck(toBearerDeps(parts)),
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
    createBasicHandler(DOCUMENT_BASIC, check, knownHeaders),
    createCertificateHandler({ directory, clock: SYSTEM_CLOCK }),
  ]
}
