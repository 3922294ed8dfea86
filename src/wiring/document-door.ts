// Builds the document door: its dialect, its credential handlers and its upstream.

import { createAuthenticator, createRevalidation, type DoorAuthenticator } from '../auth/authenticate.ts'
import { DOCUMENT_BASIC } from '../auth/basic.ts'
import { createIssuedTokenCheck } from '../auth/bearer.ts'
import {
  ACCEPTED,
  type AcceptedCredentials,
  createDocumentHandlers,
  type DocumentCredentialDeps,
  selectHandlers,
} from '../auth/credential.ts'
import { JWT_HANDLER } from '../auth/jwt.ts'
import type { ProxyHeaderNames } from '../auth/proxy.ts'
import { createSignInObserver, type SessionRecorder } from '../auth/record-sign-ins.ts'
import { createRequirePassword } from '../auth/require-password.ts'
import { createDocumentSessions } from '../auth/session/session-service.ts'
import { deriveLive, type Live } from '../base/live.ts'
import { listDigests } from '../config/auth-codecs.ts'
import { isOwnSetting } from '../config/compatibility.ts'
import { type Config, toWireNames } from '../config/options.ts'
import { findNearestSection } from '../config/problems.ts'
import { isGiven, type Settings } from '../config/settings.ts'
import { createDocumentCors, findAcceptedOrigin } from '../dialects/document/cors.ts'
import type { DocumentSettings, NodeDeps, UsersDeps } from '../dialects/document/deps.ts'
import { createDocumentDialect } from '../dialects/document/dialect.ts'
import { SESSION_ENDPOINT } from '../dialects/document/session.ts'
import { createDocumentEntry } from '../dialects/document/steps.ts'
import { toIdPrefix } from '../dialects/document/users/id.ts'
import { createUserChanges } from '../dialects/document/users/user-changes.ts'
import { mountForwardAuth } from '../dialects/forward-auth/routes.ts'
import { createFeedWatch } from '../gateway/open-streams.ts'
import type { Mount } from '../http/dispatch.ts'
import type { DoorLimits } from '../http/door.ts'
import { createDoor, type Door } from '../http/door.ts'
import type { RequestContext } from '../http/request-context.ts'
import { divideConnections } from '../live-config/door-settings.ts'
import { createSettingsService } from '../live-config/settings-service.ts'
import { checkStored, createDocumentChecks, createDocumentReplies, watchForwarded } from '../modules.ts'
import { createAccountSignIn, mountAccount, mountAdminApi, mountSignIn, toSessionDeps } from './admin-door.ts'
import type { Core } from './core.ts'
import { listHandlers, toDocumentSettings } from './core.ts'
import { type Parts, toDoorOptions } from './parts.ts'
import { createDocumentUpstream, createServices, type Revalidate } from './upstreams.ts'

export function createDocumentDoor(parts: Parts): Door {
  const { core, signIns, monitoring } = parts
  const { liveConfig, config, gateway } = core
  const settings = deriveLive(liveConfig, (snapshot) => toDocumentSettings(snapshot.settings))
  const accept = createAccept(parts)
  const own = accept(ACCEPTED.document)
  const { confirmCredential, revalidate } = createRevalidation([own], signIns.revalidation)
  const sessions = createDocumentSessions(toSessionDeps(parts, SESSION_ENDPOINT))
  const users = createUsersDeps(parts, revalidate)
  const { name, version } = config.get().document
  const database = createDocumentUpstream(core, revalidate)
  const { store, events } = core.kernel
  const forModules = watchForwarded({ settings: config.get, database, directory: core.directory, store, events })
  return createDoor({
    ...toDoorOptions(parts, 'document'),
    dialect: createDocumentDialect({
      name,
      version,
      settings: settings.get,
      checkHealth: monitoring.checkHealth,
      streams: gateway.streams,
      authenticate: own.authenticate,
      confirmCredential,
      sessions,
      cookieHeaders: signIns.sessions.cookieHeaders,
      node: createNodeDeps(core, users),
      users,
      upstream: forModules.database,
      replies: createDocumentReplies(forModules),
      checks: createDocumentChecks(forModules),
      services: createServices(core, signIns, 'document', revalidate),
    }),
    mounts: createMounts(parts, accept, settings),
    limits: deriveLive(liveConfig, (snapshot) => toDocumentDoorLimits(snapshot.settings, core.kernel.siblings.count)),
    tracing: core.tracing,
  })
}

/** Reads credentials of the kinds in `accepted`, for the door itself or for a dialect that is mounted at it. */
type Accept = (accepted: AcceptedCredentials, isLenient?: boolean) => DoorAuthenticator<RequestContext>

/** With the handlers in their configured order. */
function createAccept(parts: Parts): Accept {
  const byName = new Map(createDocumentHandlers(toCredentialDeps(parts)).map((handler) => [handler.name, handler]))
  const handlers = deriveLive(parts.core.config, (values) =>
    listHandlers(values).flatMap((name) => byName.get(name) ?? []),
  )
  const observer = createSignInObserver(parts.core.kernel.events, parts.signIns.sessions.recorder)
  return (accepted, isLenient = false) => {
    const selected = deriveLive(handlers, (all) => selectHandlers(all, accepted))
    return createAuthenticator({ select: selected.get, observer, isLenient })
  }
}

function toCredentialDeps({ core, signIns }: Parts): DocumentCredentialDeps {
  const { config, directory, kernel } = core
  const { passwords, sessions, jwtKeys, external, bearer } = signIns
  const { clock } = kernel
  return {
    jwt: {
      keys: jwtKeys.get,
      rules: signIns.claimRules.get,
      directory,
      findExternalToken: external.findToken(JWT_HANDLER),
      findIssued: createIssuedTokenCheck(bearer),
      clock,
    },
    proxy: {
      names: deriveLive(config, toProxyHeaderNames).get,
      usesSecret: () => config.get().chttpd_auth.proxy_use_secret,
      secrets: sessions.cookieSecrets,
      settings: sessions.settings.get,
      directory,
    },
    cookies: sessions.cookies,
    check: passwords.check,
    knownHeaders: passwords.knownHeaders,
    directory,
    clock,
  }
}

function createUsersDeps({ core, signIns: { passwords } }: Parts, revalidate: Revalidate): UsersDeps {
  const { config, directory, kernel, gateway } = core
  const { document, chttpd_auth } = config.get()
  return {
    database: chttpd_auth.authentication_db,
    prefix: toIdPrefix(document.name),
    directory,
    changes: createUserChanges(kernel.store),
    settings: config.get,
    requirePassword: createRequirePassword(passwords.proof, DOCUMENT_BASIC),
    watchCredential: createFeedWatch(gateway.streams, revalidate),
    signUp: passwords.signUp,
    clock: kernel.clock,
  }
}

const createNodeDeps = ({ liveConfig, config, directory }: Core, { requirePassword }: UsersDeps): NodeDeps => ({
  nodeName: config.get().node.name,
  configuration: createSettingsService(liveConfig, checkStored),
  administrators: directory,
  isOwnSetting: (section, key) => isOwnSetting(liveConfig.get().settings.table, section, key),
  isMisspelt: (section) => findNearestSection(liveConfig.get().settings.table, section) !== undefined,
  requirePassword,
  isOriginAllowed: (context) => findAcceptedOrigin(context, config.get()) !== undefined,
  supportedHashes: listDigests,
})

/** The account of users, for routes of a program that uses the library. */
export function createAccountDoor(parts: Parts): Door {
  const { dialect } = mountDocumentAccount(parts, createAccept(parts)(ACCEPTED.libraryAccount))
  return createDoor({ ...toDoorOptions(parts, 'library'), dialect, tracing: parts.core.tracing })
}

function mountDocumentAccount(
  parts: Parts,
  authenticator: DoorAuthenticator<RequestContext>,
  recorder?: SessionRecorder,
): Mount {
  const signIn = createAccountSignIn(parts)
  return mountAccount(parts, authenticator, {
    cors: createDocumentCors(parts.core.config.get),
    recorder,
    reopen: async (context, account, opening) => [(await signIn.signIn.open(account, context, opening)).header],
    renewalHeaders: parts.signIns.sessions.cookieHeaders.renewalHeaders,
    signIn,
  })
}

/** The paths at this door that belong to other dialects. */
function createMounts(parts: Parts, accept: Accept, settings: Live<DocumentSettings>): readonly Mount[] {
  const { forwardAuth, sessions } = parts.signIns
  const { renewalHeaders } = sessions.cookieHeaders
  const requireEntry = createDocumentEntry(settings.get, accept(ACCEPTED.documentEntry))
  const { authenticate } = accept(ACCEPTED.documentForwardAuth, true)
  const sendsToSignIn = () => parts.core.config.get().gate['sign-in']
  const gate = { ...forwardAuth, authenticate, requireEntry, renewalHeaders, sendsToSignIn }
  return [
    mountDocumentAccount(parts, accept(ACCEPTED.documentAccount), sessions.recorder),
    mountSignIn(parts, requireEntry),
    mountAdminApi(parts, accept(ACCEPTED.documentAdminApi), requireEntry),
    ...mountForwardAuth(gate),
  ]
}

/** The names of the proxy handler's headers. */
function toProxyHeaderNames(config: Config): ProxyHeaderNames {
  const { userNameHeader, rolesHeader, tokenHeader } = toWireNames(config)
  return {
    username: userNameHeader.toLowerCase(),
    roles: rolesHeader.toLowerCase(),
    token: tokenHeader.toLowerCase(),
  }
}

/**
 * CouchDB has a limit of its own for bodies; the smaller counts. Forwarded bodies are limited by the upstream, unless
 * `max_http_request_size` is set here.
 */
const toDocumentDoorLimits = (settings: Settings, processes: number): DoorLimits => {
  const { door, chttpd } = settings.values
  const bytes = chttpd.max_http_request_size
  const limits = { ...divideConnections(door, processes), 'max-body-bytes': Math.min(door['max-body-bytes'], bytes) }
  return isGiven(settings, 'chttpd', 'max_http_request_size') ? { ...limits, maxPassedBytes: bytes } : limits
}
