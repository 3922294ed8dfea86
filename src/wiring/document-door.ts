// Builds the document door: its dialect, its credential handlers and its upstream.

import { type Authenticator, createAuthenticator, createRevalidation } from '../auth/authenticate.ts'
import { DOCUMENT_BASIC } from '../auth/basic.ts'
import { createIssuedTokenCheck } from '../auth/bearer.ts'
import {
  ACCEPTED,
  type AcceptedCredentials,
  createDocumentHandlers,
  type DocumentCredentialDeps,
  selectHandlers,
} from '../auth/credential.ts'
import { JWT_HANDLER, type JwtDeps } from '../auth/jwt.ts'
import type { ProxyHeaderNames } from '../auth/proxy.ts'
import { createSignInObserver } from '../auth/record-sign-ins.ts'
import { createRequirePassword } from '../auth/require-password.ts'
import { createDocumentSessions } from '../auth/session/session-service.ts'
import { deriveLive, type Live } from '../base/live.ts'
import { listDigests } from '../config/auth-codecs.ts'
import { isOwnSetting } from '../config/compatibility.ts'
import { type Config, toWireNames } from '../config/options.ts'
import { findNearestSection } from '../config/problems.ts'
import { mountRelayedPaths } from '../dialects/admin-api/account-api.ts'
import { createDoorCors, findAcceptedOrigin } from '../dialects/document/cors.ts'
import type { DocumentSettings, NodeDeps, UsersDeps } from '../dialects/document/deps.ts'
import { createDocumentDialect } from '../dialects/document/dialect.ts'
import { SESSION_ENDPOINT } from '../dialects/document/session.ts'
import { createRequireEntry } from '../dialects/document/steps.ts'
import { toIdPrefix } from '../dialects/document/users/id.ts'
import { createUserChanges } from '../dialects/document/users/user-changes.ts'
import { mountForwardAuth } from '../dialects/forward-auth/routes.ts'
import { createFeedWatch } from '../gateway/open-streams.ts'
import type { Mount } from '../http/dispatch.ts'
import { createDoor, type Door } from '../http/door.ts'
import type { RequestContext } from '../http/request-context.ts'
import { readClaimPath } from '../keys/document-claims.ts'
import { createSettingsService } from '../live-config/settings-service.ts'
import { createAccountSignIn, mountAccount, mountAdminApi, mountSignIn } from './admin-door.ts'
import { createDocumentUpstream, type Revalidate } from './gateway.ts'
import { type DoorParts, type Parts, toDoorOptions } from './parts.ts'
import { createServices } from './services.ts'
import { listHandlers, toDocumentDoorLimits, toDocumentSettings, toUsersSettings } from './settings.ts'

export function createDocumentDoor(parts: DoorParts): Door {
  const { liveConfig, config, checkHealth, gateway, cookieHeaders } = parts
  const settings = deriveLive(liveConfig, (snapshot) => toDocumentSettings(snapshot.settings))
  const accept = createAccept(parts)
  const own = accept(ACCEPTED.document)
  const { confirmCredential, revalidate } = createRevalidation([own], parts)
  const sessions = createDocumentSessions({ ...parts, ...parts.cookies, endpoint: SESSION_ENDPOINT })
  const users = createUsersDeps(parts, revalidate)
  const { name, version } = config.get().document
  return createDoor({
    ...toDoorOptions(parts, 'document'),
    dialect: createDocumentDialect({
      name,
      version,
      settings: settings.get,
      checkHealth,
      streams: gateway.streams,
      authenticate: own.authenticate,
      confirmCredential,
      sessions,
      cookieHeaders,
      node: createNodeDeps(parts, users),
      users,
      upstream: createDocumentUpstream(parts, revalidate),
      services: createServices(parts, 'document', revalidate),
    }),
    mounts: createMounts(parts, accept, settings),
    limits: deriveLive(liveConfig, (snapshot) => toDocumentDoorLimits(snapshot.settings)),
    tracing: parts.tracing,
  })
}

/** Reads credentials of the kinds in `accepted`, for the door itself or for a dialect that is mounted at it. */
type Accept = (accepted: AcceptedCredentials, isLenient?: boolean) => Authenticator<RequestContext>

/** With the handlers in their configured order. */
function createAccept(parts: DoorParts): Accept {
  const byName = new Map(createDocumentHandlers(toCredentialDeps(parts)).map((handler) => [handler.name, handler]))
  const handlers = deriveLive(parts.config, (values) => listHandlers(values).flatMap((name) => byName.get(name) ?? []))
  const observer = createSignInObserver(parts.events, parts.recorder)
  return (accepted, isLenient = false) => {
    const selected = deriveLive(handlers, (all) => selectHandlers(all, accepted))
    return createAuthenticator({ select: selected.get, observer, isLenient })
  }
}

function toCredentialDeps(parts: DoorParts): DocumentCredentialDeps {
  const { config, directory, check, knownHeaders, jwtKeys, cookieSecrets, sessionSettings, cookies, clock } = parts
  return {
    jwt: {
      keys: jwtKeys.get,
      rules: deriveLive(config, toClaimRules).get,
      directory,
      findProviderToken: parts.findProviderToken(JWT_HANDLER),
      findIssued: createIssuedTokenCheck(parts.bearer),
      clock,
    },
    proxy: {
      names: deriveLive(config, toProxyHeaderNames).get,
      usesSecret: () => config.get().chttpd_auth.proxy_use_secret,
      secrets: cookieSecrets,
      settings: sessionSettings.get,
      directory,
    },
    cookies,
    check,
    knownHeaders,
    directory,
    clock,
  }
}

function createUsersDeps(parts: DoorParts, revalidate: Revalidate): UsersDeps {
  const { config, directory, store, signUp, passwordProof, gateway } = parts
  const { document, chttpd_auth } = config.get()
  return {
    database: chttpd_auth.authentication_db,
    prefix: toIdPrefix(document.name),
    directory,
    changes: createUserChanges(store),
    settings: deriveLive(config, toUsersSettings).get,
    requirePassword: createRequirePassword(passwordProof, DOCUMENT_BASIC),
    watchCredential: createFeedWatch(gateway.streams, revalidate),
    signUp,
    clock: parts.clock,
  }
}

const createNodeDeps = ({ liveConfig, config, directory }: DoorParts, { requirePassword }: UsersDeps): NodeDeps => ({
  nodeName: config.get().node.name,
  configuration: createSettingsService(liveConfig),
  administrators: directory,
  isOwnSetting,
  isMisspelt: (section) => findNearestSection(section) !== undefined,
  requirePassword,
  isOriginAllowed: (context) =>
    findAcceptedOrigin(context, toDocumentSettings(liveConfig.get().settings).cors) !== undefined,
  supportedHashes: listDigests,
})

/** The account of users, for routes of a program that uses the library. */
export function createAccountDoor(parts: Parts): Door {
  const settings = deriveLive(parts.liveConfig, (snapshot) => toDocumentSettings(snapshot.settings))
  const { dialect } = mountDocumentAccount(parts, createAccept(parts)(ACCEPTED.libraryAccount), settings)
  return createDoor({ ...toDoorOptions(parts, 'library'), dialect, tracing: parts.tracing })
}

function mountDocumentAccount(
  parts: Parts,
  authenticator: Authenticator<RequestContext>,
  settings: Live<DocumentSettings>,
  recorder?: Parts['recorder'],
): Mount {
  const signIn = createAccountSignIn(parts)
  return mountAccount(parts, authenticator, {
    cors: createDoorCors(settings.get),
    recorder,
    reopen: async (context, account, opening) => [(await signIn.signIn.open(account, context, opening)).header],
    renewalHeaders: parts.cookieHeaders.renewalHeaders,
    signIn,
  })
}

/** The paths at this door that belong to other dialects. */
function createMounts(parts: DoorParts, accept: Accept, settings: Live<DocumentSettings>): readonly Mount[] {
  const { renewalHeaders } = parts.cookieHeaders
  const requireEntry = createRequireEntry(settings.get, accept(ACCEPTED.documentEntry))
  const { authenticate } = accept(ACCEPTED.documentForwardAuth, true)
  const sendsToSignIn = () => parts.config.get().gate['sign-in']
  const gate = { ...parts.forwardAuth, authenticate, requireEntry, renewalHeaders, sendsToSignIn }
  if (parts.relayOf) return [...mountRelayedPaths(createDoorCors(settings.get)), ...mountForwardAuth(gate)]
  return [
    mountDocumentAccount(parts, accept(ACCEPTED.documentAccount), settings, parts.recorder),
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

/** What the document door requires of the claims of a token, and where it finds the roles. */
function toClaimRules(config: Config): ReturnType<JwtDeps['rules']> {
  const { required_claims: required, roles_claim_path: path } = config.jwt_auth
  return {
    required,
    roles: path === '' ? { kind: 'claim', name: toWireNames(config).rolesClaim } : readClaimPath(path),
  }
}
