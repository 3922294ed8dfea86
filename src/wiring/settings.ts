// Maps the options of a config snapshot to the settings each folder declares.
import { BlockList } from 'node:net'
import { UNNAMED_HANDLERS } from '../auth/credential.ts'
import type { LimitSettings } from '../auth/limits/limits.ts'
import { createRoleMapCheck } from '../auth/provider.ts'
import type { SigningSettings } from '../auth/session/cookie-value.ts'
import type { RenewableSettings } from '../auth/session/renewable-session.ts'
import { RUNNING_REQUESTS_SECONDS } from '../auth/session/secrets.ts'
import type { SessionSettings } from '../auth/session/session-cookie.ts'
import type { Log } from '../base/log.ts'
import { expandPeers } from '../config/addresses.ts'
import { toDigests } from '../config/auth-codecs.ts'
import { type Config, toWireNames } from '../config/options.ts'
import { findDiscovery, listIssuers } from '../config/providers.ts'
import type { ProviderEntry, Settings } from '../config/settings.ts'
import type { DocumentSettings, UsersSettings } from '../dialects/document/deps.ts'
import type { MultiModelSettings } from '../dialects/multi-model/settings.ts'
import type { DirectorySettings } from '../directory/deps.ts'
import type { RoleIssuers } from '../directory/users/user.ts'
import type { UpstreamSettings } from '../gateway/upstream-request.ts'
import type { DoorLimits } from '../http/door.ts'
import type { ListenerLimits } from '../http/server.ts'
import type { TrustRules } from '../http/trust.ts'
import { readClaimPath } from '../keys/document-claims.ts'
import { loadUpstreamAuthorities } from '../live-config/certificates.ts'
import { toHashParameters, toPasswordRules } from '../live-config/kernel-settings.ts'
import type { IterationLimits } from '../passwords/hash-policy.ts'
import type { HashWork } from '../passwords/hash-work.ts'

const toMs = (seconds: number): number => Math.round(seconds * 1000)

export const toDoorLimits = ({ door }: Config): DoorLimits => ({
  maxConnections: door['max-connections'],
  maxConnectionsPerClient: door['max-connections-per-client'],
  maxUriBytes: door['max-uri-bytes'],
  maxHeaderBytes: door['max-header-bytes'],
  maxHeaders: door['max-headers'],
  maxBodyBytes: door['max-body-bytes'],
  maxJsonItems: door['max-json-items'],
  bodyTimeoutMs: toMs(door['body-timeout']),
  bodyDeadlineMs: toMs(door['body-deadline']),
  writeTimeoutMs: toMs(door['write-timeout']),
})

/**
 * CouchDB has a limit of its own for bodies; the smaller counts. Forwarded bodies are limited by the upstream, unless
 * `max_http_request_size` is set here.
 */
export const toDocumentDoorLimits = (settings: Settings): DoorLimits => {
  const limits = toDoorLimits(settings.values)
  const bytes = settings.values.chttpd.max_http_request_size
  const maxBodyBytes = Math.min(limits.maxBodyBytes, bytes)
  const isLimited = isGiven(settings, 'chttpd', 'max_http_request_size')
  return { ...limits, maxBodyBytes, ...(isLimited && { maxPassedBytes: bytes }) }
}

export const toLimitSettings = ({ auth, chttpd_auth_lockout: lock }: Config): LimitSettings => ({
  lock: { mode: lock.mode, threshold: lock.threshold, lifetimeMs: lock.max_lifetime },
  account: { burst: auth['account-failures'], refillPerMinute: auth['account-failures-per-minute'] },
  peer: { burst: auth['peer-failures'], refillPerMinute: auth['peer-failures-per-minute'] },
  signUps: { perPeer: auth['peer-sign-ups-per-hour'], total: auth['sign-ups-per-hour'] },
  maxCounters: lock.max_objects,
})

/** Without the name of a listener of the options, for the control socket. */
export const toListenerLimits = ({ door }: Config, name = ''): ListenerLimits => ({
  maxHeaderBytes: door['max-header-bytes'],
  maxConnections: door['max-connections'],
  headerTimeoutMs: toMs(door['header-timeout']),
  keepAliveTimeoutMs: toMs(door['keep-alive-timeout']),
  usesProxyProtocol: door['proxy-protocol'].includes(name),
  usesHttp2: door.http2.includes(name),
})

export const toStopTimeoutMs = ({ door }: Config): number => toMs(door['stop-timeout'])

export function toTrustRules({ chttpd }: Config): TrustRules {
  const { ranges, hasUnix } = expandPeers(chttpd.trusted_proxies)
  const trusted = new BlockList()
  for (const { address, prefix, family } of ranges) trusted.addSubnet(address, prefix, family)
  return {
    trusted,
    trustsUnixSockets: hasUnix,
    family: chttpd.forwarded_headers,
    hostHeader: chttpd.x_forwarded_host.toLowerCase(),
    protoHeader: chttpd.x_forwarded_proto.toLowerCase(),
    sslHeader: chttpd.x_forwarded_ssl.toLowerCase(),
    peerHeader: chttpd.peer_header.toLowerCase(),
  }
}

/** The settings that all upstreams share. An upstream may have as many connections as the door may have clients. */
export const toUpstreamSettings = (
  config: Config,
  log: Log,
  threads = 1,
): Omit<UpstreamSettings, 'urls' | 'spool' | 'ownsCors' | 'sandboxedExcept'> => ({
  limits: {
    connectTimeoutMs: toMs(config.upstream['connect-timeout']),
    firstByteTimeoutMs: toMs(config.upstream['first-byte-timeout']),
    maxConnections: Math.ceil(config.door['max-connections'] / threads),
    authorities: loadUpstreamAuthorities(config, log),
  },
  idleTimeoutMs: toMs(config.upstream['idle-timeout']),
})

/** The headers that carry an identity, under their configured names. */
export function listIdentityHeaders(config: Config): readonly string[] {
  const { userNameHeader, rolesHeader, tokenHeader } = toWireNames(config)
  const { x_forwarded_host, x_forwarded_proto, x_forwarded_ssl, peer_header } = config.chttpd
  const names = [userNameHeader, rolesHeader, tokenHeader, x_forwarded_host, x_forwarded_proto, x_forwarded_ssl]
  return [...names, peer_header].filter((name) => name !== '')
}

/** Whether the option is set explicitly, to any value. */
export const isGiven = (settings: Settings, section: string, key: string): boolean =>
  settings.find(section, key)?.source.kind !== 'default'

/** The credential handlers of the document door, in order. */
export const listHandlers = ({ chttpd, ssl }: Config): readonly string[] => [
  ...chttpd.authentication_handlers,
  ...UNNAMED_HANDLERS.filter(({ needs }) => needs === undefined || ssl[needs] !== '').map(({ name }) => name),
]

export const toDocumentSettings = (settings: Settings): DocumentSettings => {
  const { values: config } = settings
  return {
    requireValidUser: config.chttpd.require_valid_user,
    requireValidUserExceptForUp: config.chttpd.require_valid_user_except_for_up,
    adminOnlyAllDbs: config.chttpd.admin_only_all_dbs,
    maxUriLength: config.chttpd.max_uri_length || undefined,
    forwardsRewrites: config.upstream['document-rewrites'],
    validatesHost: config.chttpd.validate_host,
    validHosts: config.chttpd.valid_hosts,
    wwwAuthenticate: config.chttpd['WWW-Authenticate'],
    showsVersions: config.chttpd.server_header_versions,
    maintenanceMode: config.couchdb.maintenance_mode,
    uuid: config.couchdb.uuid,
    handlers: listHandlers(config),
    authenticationDb: isGiven(settings, 'chttpd_auth', 'authentication_db')
      ? settings.find('chttpd_auth', 'authentication_db')?.text
      : undefined,
    authenticationRedirect: config.chttpd_auth.authentication_redirect,
    sendsToSignIn: config.gate['sign-in'],
    cookie: toSessionSettings(config),
    cors: {
      isEnabled: config.chttpd.enable_cors,
      origins: config.cors.origins,
      hasCredentials: config.cors.credentials,
      headers: config.cors.headers,
      methods: config.cors.methods,
      exposedHeaders: config.cors.exposed_headers,
      maxAgeSeconds: config.cors.max_age,
    },
  }
}

export const toMultiModelSettings = (config: Config): MultiModelSettings => {
  const { server, auth, http, couchdb } = config
  return {
    authentication: server.authentication,
    systemOnly: server['authentication-system-only'],
    unixSockets: server['authentication-unix-sockets'],
    webUiBeforeLogin: config['multi-model']['web-ui-before-login'],
    role: server.role,
    isHardened: server.harden,
    uuid: couchdb.uuid,
    sessionTimeoutSeconds: server['session-timeout'],
    minimalExpirySeconds: auth['minimal-jwt-expiry-time'],
    maximalExpirySeconds: auth['maximal-jwt-expiry-time'],
    maxLifetimeSeconds: config.chttpd_auth.max_lifetime,
    trustedOrigins: http['trusted-origin'],
    returnsQueueTime: http['return-queue-time-header'],
  }
}

/** `undefined`: a verified password stays verified until it changes. */
export const toBasicAgeMs = ({ server }: Config): number | undefined =>
  server['authentication-timeout'] === 0 ? undefined : toMs(server['authentication-timeout'])

/** The least work for checking the password of an unknown name, so that response times do not reveal it. */
export function toDecoy(config: Config): HashWork {
  const { prf, iterations } = toHashParameters(config)
  return { unit: prf, amount: iterations }
}

export const toIterationLimits = ({ chttpd_auth }: Config): IterationLimits => ({
  min: chttpd_auth.min_iterations,
  max: chttpd_auth.max_iterations,
})

export const toDirectorySettings = (config: Config, providers: readonly ProviderEntry[]): DirectorySettings => ({
  parameters: toHashParameters(config),
  maxIterations: config.chttpd_auth.max_iterations,
  rules: toPasswordRules(config),
  upgradesHashes: config.chttpd_auth.upgrade_hash_on_auth,
  cacheSize: config.chttpd_auth.auth_cache_size,
  maxStalenessMs: toMs(config.store['max-staleness']),
  maxSessionSeconds: toMaxSessionSeconds(config),
  maxSessions: config.chttpd_auth.max_sessions,
  factorRoles: config.admin['second-factor-roles'],
  foldsNames: config.auth.names === 'folded',
  reservedPrefixes: providers.flatMap(({ name, values }) =>
    values.users === 'asserted' && values.names === 'prefixed' ? `${name}/` : [],
  ),
  roleIssuers: toRoleIssuers(providers),
})

/** The issuers of the providers that give roles to users, and which roles. */
export const toRoleIssuers = (providers: readonly Pick<ProviderEntry, 'values'>[]): RoleIssuers =>
  new Map(
    providers.flatMap(({ values }) => {
      const canGive = createRoleMapCheck({ roleMap: values['role-map'] })
      return values.users === 'create' ? listIssuers(values).map((issuer) => [issuer, canGive]) : []
    }),
  )

/** The longest lifetime that any door gives to a cookie or token. */
const toMaxSessionSeconds = ({ chttpd_auth, admin, server, auth }: Config): number =>
  Math.ceil(
    Math.max(
      chttpd_auth.timeout,
      admin['session-timeout'],
      server['session-timeout'],
      auth['maximal-jwt-expiry-time'],
      auth['token-timeout'],
    ),
  ) + RUNNING_REQUESTS_SECONDS

/** The session cookie of the document door. */
export const toSessionSettings = ({ chttpd_auth: auth }: Config): SessionSettings => ({
  timeoutSeconds: auth.timeout,
  maxLifetimeSeconds: auth.max_lifetime,
  algorithms: toAlgorithms(auth),
  isPersistent: auth.allow_persistent_cookies,
  domain: auth.cookie_domain,
  sameSite: auth.same_site,
  hasHostPrefix: auth.cookie_host_prefix,
  isPartitioned: auth.cookie_partitioned,
})

export const toRenewableSettings = ({ auth }: Config): RenewableSettings => ({
  tokenSeconds: auth['token-timeout'],
  idleSeconds: auth['renewal-timeout'],
})

/** The session cookie of /_cardea/. */
export const toAdminSessionSettings = ({ admin, chttpd_auth: auth }: Config): SigningSettings => ({
  timeoutSeconds: admin['session-timeout'],
  maxLifetimeSeconds: auth.max_lifetime,
  algorithms: toAlgorithms(auth),
})

function toAlgorithms({ hash_algorithms: names }: Config['chttpd_auth']): SigningSettings['algorithms'] {
  const [first = 'sha256', ...others] = toDigests(names)
  return [first, ...others]
}

export const toUsersSettings = ({ chttpd_auth, couchdb }: Config): UsersSettings => ({
  publicFields: chttpd_auth.public_fields,
  isPublic: chttpd_auth.users_db_public,
  allowsSignUp: chttpd_auth.allow_sign_up,
  isDeletable: couchdb.users_db_deletable,
})

/** A provider without its keys, and where they are. */
export function toProviderSettings({ name, values }: Pick<ProviderEntry, 'name' | 'values'>) {
  const { issuer, label } = values
  const [issuers, discovery] = [listIssuers(values), findDiscovery(values)]
  const place = { name, issuer, issuers, discovery, jwksUri: values['jwks-uri'] }
  return {
    name,
    place,
    maxAgeMs: values['keys-max-age'] * 1000,
    algorithms: values.algorithms,
    users: values.users,
    keepsNames: values.names === 'as-is',
    roleMap: values['role-map'],
    // an asserted user has no session that could be listed or ended
    client:
      values['client-id'] === '' || values.users === 'asserted'
        ? undefined
        : {
            place,
            label: label || name,
            secret: values['client-secret'],
            scopes: values.scopes,
            logoutTokenType: values['logout-token-type'],
          },
    rules: {
      audience: values.audience,
      clients: values.clients,
      scopes: values.scope,
      clientId: values['client-id'],
      name: readClaimPath(values['name-claim'] || 'sub'),
      roles: values['roles-claim'] === '' ? undefined : readClaimPath(values['roles-claim']),
      factors: values['second-factor'],
      skewSeconds: values['clock-skew'],
    },
  }
}
