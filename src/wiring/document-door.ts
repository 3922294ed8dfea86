// Builds the document door: its dialect, its credential handlers and its upstream.
import { authenticate, authenticateOrAnonymous } from '../auth/authenticate.ts'
import { DOCUMENT_BASIC } from '../auth/basic.ts'
import { createIssuedTokenCheck } from '../auth/bearer.ts'
import {
  ACCEPTED,
  type AcceptedCredentials,
  createDocumentHandlers,
  type DocumentCredentialDeps,
  selectHandlers,
} from '../auth/credential.ts'
import { isProxyToken } from '../auth/proxy.ts'
import { createSignInObserver } from '../auth/record-sign-ins.ts'
import { createRequirePassword } from '../auth/require-password.ts'
import { findSession } from '../auth/session/cookie-handler.ts'
import { createSessionService, openTokenSession } from '../auth/session/session-service.ts'
import { renderSessionCookie } from '../auth/session/set-cookie.ts'
import { SYSTEM_CLOCK } from '../base/clock.ts'
import { deriveLive, type Live } from '../base/live.ts'
import { PRODUCT } from '../base/product.ts'
import { listDigests } from '../config/auth-codecs.ts'
import { isOwnSetting } from '../config/compatibility.ts'
import { findNearestSection } from '../config/problems.ts'
import type { AccountDoor } from '../dialects/admin-api/account-api.ts'
import { answerPreflight, corsHeaders } from '../dialects/document/cors.ts'
import type { DocumentDeps, DocumentSettings } from '../dialects/document/deps.ts'
import { createDocumentDialect } from '../dialects/document/dialect.ts'
import { renewingHeaders, SESSION_ENDPOINT, toCookieContext } from '../dialects/document/session.ts'
import { createRequireEntry } from '../dialects/document/steps.ts'
import type { UsersDeps } from '../dialects/document/users/deps.ts'
import { toIdPrefix } from '../dialects/document/users/id.ts'
import { createUserChanges } from '../dialects/document/users/user-changes.ts'
import { mountForwardAuth } from '../dialects/forward-auth/routes.ts'
import { isMounted } from '../dialects/own-paths.ts'
import { ANONYMOUS, type Authenticated } from '../directory/identity.ts'
import type { Mount } from '../http/dispatch.ts'
import { createDoor, type Door } from '../http/door.ts'
import type { Dialect, RequestContext } from '../http/request-context.ts'
import { createSettingsService } from '../live-config/settings-service.ts'
import { mountAccount, mountAdminApi } from './admin-door.ts'
import { createRevalidation, type Parts, toBearerDeps, toDoorOptions } from './parts.ts'
import {
  listHandlers,
  toClaimRules,
  toDocumentDoorLimits,
  toDocumentSettings,
  toProxyHeaderNames,
  toUsersSettings,
} from './settings.ts'
import { createDocumentUpstream, type Revalidate } from './upstreams.ts'

export function createDocumentDoor(parts: Parts): Door {
  const { liveConfig, config, checkHealth, gateway } = parts
  const { name, version } = config.get().document
  const settings = deriveLive(liveConfig, (snapshot) => toDocumentSettings(snapshot.settings))
  const credentials = createCredentials(parts)
  const own = credentials.createIdentify(ACCEPTED.document)
  const { confirm, revalidate } = createRevalidation(parts, {
    identify: own.authenticateAgain,
    isConfigured: credentials.isConfigured,
    dialect: () => dialect,
  })
  const users = createUsersDeps(parts, revalidate)
  const dialect: Dialect = {
    ...createDocumentDialect({
      name,
      version,
      product: PRODUCT,
      settings: settings.get,
      clock: SYSTEM_CLOCK,
      checkHealth,
      streams: gateway.streams,
      authenticate: own.authenticate,
      ...createSessionDeps(parts),
      node: createNodeDeps(parts, users),
      users,
      isMounted,
      upstream: createDocumentUpstream(parts, revalidate),
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

/** The credential handlers in their configured order. */
function createCredentials(parts: Parts) {
  const byName = new Map(createDocumentHandlers(toCredentialDeps(parts)).map((handler) => [handler.name, handler]))
  const handlers = deriveLive(parts.config, (values) => listHandlers(values).flatMap((name) => byName.get(name) ?? []))
  const observer = createSignInObserver(parts.events, parts.recorder)
  return {
    /** For the door itself, or for a dialect that is mounted at it. */
    createIdentify(accepted: AcceptedCredentials, identify: typeof authenticate = authenticate) {
      const selected = deriveLive(handlers, (all) => selectHandlers(all, accepted))
      return {
        authenticate: (context: RequestContext) => identify(context, selected.get(), observer),
        /** For a request that was accepted before. Records no sign-in. */
        authenticateAgain: (context: RequestContext) => authenticate(context, selected.get()),
      }
    },
    /** Whether the handler is configured now. */
    isConfigured: (handler: string) => handlers.get().some(({ name }) => name === handler),
  }
}

function toCredentialDeps(parts: Parts): DocumentCredentialDeps {
  const { config, directory, check, knownHeaders, jwtKeys, cookieSecrets, sessionSettings, cookies } = parts
  return {
    jwt: {
      keys: jwtKeys.get,
      rules: deriveLive(config, toClaimRules).get,
      directory,
      findIssued: createIssuedTokenCheck(toBearerDeps(parts)),
      clock: SYSTEM_CLOCK,
    },
    proxy: {
      names: deriveLive(config, toProxyHeaderNames).get,
      usesSecret: () => config.get().chttpd_auth.proxy_use_secret,
      isToken: (name, token) => {
        const secret = cookieSecrets.current()
        const { algorithms } = sessionSettings.get()
        return isProxyToken(token, name, { secrets: secret ? [secret] : [], algorithms })
      },
      // the headers are about this moment: sessions that ended earlier do not matter
      isActive: (name) => directory.isForeignTokenLive({ name, issuedAt: 'now' }),
    },
    cookies,
    check,
    knownHeaders,
    directory,
    clock: SYSTEM_CLOCK,
  }
}

function createSessionDeps(parts: Parts) {
  const deps = { ...parts, ...parts.cookies, endpoint: SESSION_ENDPOINT }
  return {
    sessions: createSessionService(deps),
    openForToken: (authenticated: Authenticated, context: RequestContext) =>
      openTokenSession(authenticated, context, deps),
    findCookieSession: async (context: RequestContext) =>
      (await findSession(context, parts.cookies))?.credential.session,
  }
}

function createUsersDeps(parts: Parts, revalidate: Revalidate): UsersDeps {
  const { config, directory, store, signUp, passwordProof, gateway } = parts
  const { document, chttpd_auth } = config.get()
  return {
    database: chttpd_auth.authentication_db,
    prefix: toIdPrefix(document.name),
    directory,
    changes: createUserChanges(store),
    settings: () => toUsersSettings(config.get()),
    requirePassword: createRequirePassword(passwordProof, DOCUMENT_BASIC),
    watchCredential: (context, onEnd) =>
      gateway.streams.watch({
        authenticated: context.authenticated ?? ANONYMOUS,
        streamEpoch: context.streamEpoch,
        revalidate: () => revalidate(context),
        cut: onEnd,
        isFeed: true,
        // the door closes the connections of its own feeds
        stop: () => {},
      }),
    signUp,
    uuid: () => config.get().couchdb.uuid,
    clock: SYSTEM_CLOCK,
  }
}

const createNodeDeps = (
  { liveConfig, config, directory }: Parts,
  { requirePassword }: UsersDeps,
): DocumentDeps['node'] => ({
  nodeName: config.get().node.name,
  configuration: createSettingsService(liveConfig),
  administrators: directory,
  isOwnSetting,
  isMisspelt: (section) => findNearestSection(section) !== undefined,
  requirePassword,
  supportedHashes: listDigests,
})

/** The paths at this door that belong to other dialects. */
function createMounts(
  parts: Parts,
  { createIdentify, isConfigured }: ReturnType<typeof createCredentials>,
  settings: Live<DocumentSettings>,
): readonly Mount[] {
  const requireEntry = createRequireEntry(settings.get, createIdentify(ACCEPTED.documentEntry).authenticate)
  const { sessions } = createSessionDeps(parts)
  const cookies = { settings: settings.get, clock: SYSTEM_CLOCK }
  return [
    mountAccount(parts, {
      ...createIdentify(ACCEPTED.documentAccount),
      isConfigured,
      door: toAccountDoor(settings),
      async reopen(context, account, opening) {
        const { cookie } = await sessions.openFor(account, context, opening)
        return [renderSessionCookie(cookie, toCookieContext(context, cookies))]
      },
    }),
    mountAdminApi(parts, { ...createIdentify(ACCEPTED.documentAdminApi), isConfigured, requireEntry }),
    ...mountForwardAuth({
      ...parts.forwardAuth,
      authenticate: createIdentify(ACCEPTED.documentForwardAuth, authenticateOrAnonymous).authenticate,
      requireEntry,
      // a session that is used only through the forward-auth endpoint is renewed too
      doorHeaders: (context, reply) => renewingHeaders(context, reply, cookies),
    }),
  ]
}

const toAccountDoor = ({ get }: Live<DocumentSettings>): AccountDoor => ({
  origins: () => (get().cors.isEnabled ? get().cors.origins : []),
  answerPreflight: (context) => answerPreflight(context, get().cors),
  headers: (context, reply) => [
    ...corsHeaders(context, reply, get().cors),
    ...renewingHeaders(context, reply, { settings: get, clock: SYSTEM_CLOCK }),
  ],
})
