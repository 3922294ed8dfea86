// Opens the gateway, and maps options to the settings of each upstream: CouchDB, ArangoDB, services.
import { mintProxyToken } from '../auth/proxy.ts'
import { ADMIN_COOKIE } from '../auth/session/console-session.ts'
import { SESSION_COOKIES } from '../auth/session/set-cookie.ts'
import { nowSeconds, SYSTEM_CLOCK } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import { createLive, deriveLive, type Live } from '../base/live.ts'
import type { Log } from '../base/log.ts'
import type { Service } from '../config/open-sections.ts'
import { type Config, toWireNames } from '../config/options.ts'
import type { Directory } from '../directory/directory.ts'
import { createUpstreamWatch } from '../gateway/health.ts'
import { toDocumentHints, toMultiModelHints, toServiceHints, type UpstreamHints } from '../gateway/hints.ts'
import {
  identityHeadersByClient,
  identityHeadersByDocumentToken,
  identityHeadersByProxyHeaders,
  identityHeadersByUserToken,
  identityHeadersForService,
  type ToIdentityHeaders,
} from '../gateway/identity-headers.ts'
import {
  createDocumentOpenProbes,
  createDocumentProbe,
  createMultiModelProbe,
  MULTI_MODEL_OPEN_PROBES,
} from '../gateway/identity-probe.ts'
import { OpenStreams } from '../gateway/open-streams.ts'
import { createUpstream, inspectOnce, type Upstream, type UpstreamDeps } from '../gateway/upstream.ts'
import type { UpstreamCheckDeps, UpstreamFinding } from '../gateway/upstream-check.ts'
import { createUpstreamRegistry, type UpstreamRegistry } from '../gateway/upstream-registry.ts'
import type { UpstreamSettings } from '../gateway/upstream-request.ts'
import type { RequestContext } from '../http/request-context.ts'
import type { LiveRing } from '../keys/live-ring.ts'
import { type KeyRing, signWithRing } from '../keys/ring.ts'
import { loadSecretRing } from '../keys/secret-files.ts'
import { createHmacSigner } from '../keys/sign.ts'
import type { Claims } from '../keys/verify.ts'
import { followRetirement } from '../live-config/cookie-secret.ts'
import type { LiveConfig } from '../live-config/live-config.ts'
import { openUpstreamSecrets, type TokenSecrets, toUpstreamSource } from '../live-config/secret-rings.ts'
import { openServiceKey, type ServiceKey } from '../live-config/service-key.ts'
import { listIdentityHeaders, toUpstreamSettings } from './settings.ts'

export interface Gateway extends UpstreamRegistry {
  readonly streams: OpenStreams
  /** Signs for ArangoDB; `undefined` where no secret is configured. */
  readonly ring: LiveRing | undefined
  /** Signs for services. */
  readonly serviceKey: ServiceKey
  /** Wraps `identify` so that the request records the stream epoch before it is authenticated. */
  withStreamEpoch<T>(identify: (context: RequestContext) => T): (context: RequestContext) => T
}

interface GatewayDeps {
  readonly liveConfig: LiveConfig
  readonly directory: Directory
  readonly tokenSecrets: TokenSecrets
  readonly log: Log
}

export async function openGateway(deps: GatewayDeps): Promise<Gateway> {
  const { liveConfig, log } = deps
  const streams = new OpenStreams()
  const ring = await openUpstreamSecrets(liveConfig)
  const serviceKey = openServiceKey(liveConfig)
  const registry = createUpstreamRegistry(log)
  const stopWatching = watchStreams(streams, deps)
  return {
    ...registry,
    streams,
    ring,
    serviceKey,
    withStreamEpoch: (identify) => (context) => {
      context.streamEpoch ??= streams.epoch
      return identify(context)
    },
    async close() {
      stopWatching()
      // before their connections are closed, which would look like failures of the upstreams
      streams.stop('all')
      ring?.stop()
      await registry.close()
    },
  }
}

/** How often streams with an expired credential are ended. */
const EXPIRY_CHECK_MS = 1000

/** Ends or revalidates streams when users, keys, options or the time change. Returns a function that stops it. */
function watchStreams(streams: OpenStreams, { liveConfig, directory, tokenSecrets }: GatewayDeps): () => void {
  const stopListening = directory.onRevoked((revocation) => streams.end(revocation))
  const revalidate = () => streams.revalidateAll()
  // In a microtask, after every other listener: streams must be revalidated with the new keys.
  liveConfig.onChange(() => queueMicrotask(revalidate))
  tokenSecrets.onReload(revalidate)
  const retirement = followRetirement(liveConfig)
  const timer = setInterval(() => {
    streams.expire(nowSeconds(SYSTEM_CLOCK))
    if (retirement.isDue()) revalidate()
  }, EXPIRY_CHECK_MS).unref()
  return () => {
    clearInterval(timer)
    stopListening()
  }
}

/** What an upstream is built from. */
export interface UpstreamParts extends Pick<UpstreamDeps, 'revalidate'> {
  readonly gateway: Gateway
  readonly liveConfig: LiveConfig
  readonly config: Live<Config>
  readonly log: Log
}

type Common = Omit<UpstreamDeps, 'settings' | 'toIdentityHeaders' | 'requestIdHeader' | 'isolates' | 'probe' | 'watch'>

const toCommonDeps = ({ gateway, config, revalidate }: UpstreamParts): Common => ({
  identityHeaderNames: deriveLive(config, listIdentityHeaders).get,
  ownCookies: [...SESSION_COOKIES, ADMIN_COOKIE],
  streams: gateway.streams,
  revalidate,
})

const createWatch = ({ gateway, liveConfig }: UpstreamParts, hints: () => UpstreamHints) =>
  createUpstreamWatch(liveConfig.kernel.events, hints, gateway.readiness.inspectAgain)

/** CouchDB behind the document door. */
export function createDocumentUpstream(parts: UpstreamParts): Upstream {
  const { config } = parts
  const settings = deriveLive(
    config,
    (values): UpstreamSettings => ({
      ...toUpstreamSettings(values, parts.log),
      urls: values.upstream.document,
      spool: undefined,
      ownsCors: values.chttpd.enable_cors,
    }),
  )
  const toIdentityHeaders = identityHeadersForDocument(config)
  const { probe, ...inspection } = toDocumentInspection(config, toIdentityHeaders)
  return parts.gateway.register(
    createUpstream({
      ...toCommonDeps(parts),
      settings: settings.get,
      isolates: createIsolates(config, ['_utils']),
      toIdentityHeaders,
      probe,
      inspection,
      watch: createWatch(parts, inspection.hints),
      requestIdHeader: 'X-Couch-Request-ID',
    }),
    { door: 'document', healthPath: '/_up' },
  )
}

function toDocumentInspection(config: Live<Config>, toIdentityHeaders: ToIdentityHeaders): UpstreamCheckDeps {
  const { username, roles } = toUpstreamHeaders(config.get().document.name)
  return {
    probe: createDocumentProbe(toIdentityHeaders),
    openProbes: createDocumentOpenProbes(username, roles),
    hints: () => toDocumentHints(config.get().upstream['document-identity']),
  }
}

/** The headers that tell CouchDB who sends a request. */
export function identityHeadersForDocument(config: Live<Config>): ToIdentityHeaders {
  const secret = () => config.get().upstream['document-secret']
  const signer = deriveLive(config, ({ upstream }) => createHmacSigner(upstream['document-secret']))
  const byToken = identityHeadersByDocumentToken(
    () => signer.get() ?? refuseToSign(),
    () => `_${config.get().document.name.toLowerCase()}.roles`,
  )
  const byHeaders = identityHeadersByProxyHeaders(
    () => toUpstreamHeaders(config.get().document.name),
    (name) => mintProxyToken(name, { secret: Buffer.from(secret()), algorithm: 'sha256' }),
  )
  return (who) => (config.get().upstream['document-identity'] === 'proxy' ? byHeaders : byToken)(who)
}

/** CouchDB's default names. The options for header names apply to requests to Cardea, not to CouchDB. */
const toUpstreamHeaders = (name: string) => ({
  username: `X-Auth-${name}-UserName`,
  roles: `X-Auth-${name}-Roles`,
  token: `X-Auth-${name}-Token`,
})

function refuseToSign(): never {
  throw new Refusal('upstream_failed', { detail: 'no secret is configured to sign for the upstream' })
}

/** ArangoDB behind the multi-model door. It does not accept chunked request bodies, so they are spooled. */
export function createMultiModelUpstream(parts: UpstreamParts): Upstream {
  const { config } = parts
  const settings = deriveLive(
    config,
    (values): UpstreamSettings => ({
      ...toUpstreamSettings(values, parts.log),
      urls: values.upstream['multi-model'],
      spool: { bodyBytes: values.upstream['spool-bytes'], totalBytes: values.upstream['spool-total-bytes'] },
      ownsCors: values.http['trusted-origin'].length > 0,
    }),
  )
  const toIdentityHeaders = identityHeadersForMultiModel(config, () => parts.gateway.ring?.get())
  const { probe, ...inspection } = toMultiModelInspection(config, toIdentityHeaders)
  return parts.gateway.register(
    createUpstream({
      ...toCommonDeps(parts),
      settings: settings.get,
      isolates: createIsolates(config, ['_admin', 'aardvark']),
      toIdentityHeaders,
      probe,
      inspection,
      watch: createWatch(parts, toMultiModelHints),
      requestIdHeader: 'X-Request-Id',
    }),
    { door: 'multi-model', healthPath: '/_admin/server/availability' },
  )
}

const toMultiModelInspection = (config: Live<Config>, toIdentityHeaders: ToIdentityHeaders): UpstreamCheckDeps => ({
  probe: createMultiModelProbe(toIdentityHeaders, () => config.get().upstream['multi-model-identity'] === 'user'),
  openProbes: MULTI_MODEL_OPEN_PROBES,
  hints: toMultiModelHints,
})

/** The inspection of every upstream with these options, for a command without a server. */
export async function inspectUpstreams(values: Config, log: Log): Promise<readonly UpstreamFinding[]> {
  const config = createLive(values)
  const common = toUpstreamSettings(values, log)
  const secrets = await loadSecretRing(toUpstreamSource(values))
  const ring = secrets.kind === 'ring' ? secrets.ring : undefined
  const document = toDocumentInspection(config, identityHeadersForDocument(config))
  const multiModel = toMultiModelInspection(
    config,
    identityHeadersForMultiModel(config, () => ring),
  )
  const found = await Promise.all([
    inspectOnce({ ...common, urls: values.upstream.document }, document),
    inspectOnce({ ...common, urls: values.upstream['multi-model'] }, multiModel),
  ])
  return found.flat()
}

function identityHeadersForMultiModel(config: Live<Config>, findRing: () => KeyRing | undefined): ToIdentityHeaders {
  const admin = () => config.get().upstream['multi-model-admin']
  const byClient = identityHeadersByClient(admin)
  const signer = () => {
    const ring = findRing() ?? refuseToSign()
    return { version: ring.version, sign: (claims: Claims) => signWithRing(ring, claims) }
  }
  const byToken = identityHeadersByUserToken(signer, toWireNames(config.get()).issuer, admin)
  return (who) => (config.get().upstream['multi-model-identity'] === 'client' ? byClient : byToken)(who)
}

/** An application behind the multi-model door. */
export function createServiceUpstream({ name, url }: Service, parts: UpstreamParts): Upstream {
  const settings = deriveLive(
    parts.config,
    (values): UpstreamSettings => ({
      ...toUpstreamSettings(values, parts.log),
      urls: [url],
      spool: undefined,
      ownsCors: values.http['trusted-origin'].length > 0,
    }),
  )
  return parts.gateway.register(
    createUpstream({
      ...toCommonDeps(parts),
      settings: settings.get,
      // an application is mounted at this origin on purpose, and its pages run scripts
      isolates: () => false,
      toIdentityHeaders: identityHeadersForService(() => parts.gateway.serviceKey.signer, name),
      watch: createWatch(parts, () => toServiceHints(name)),
      requestIdHeader: 'X-Request-Id',
    }),
  )
}

/** The database's own console runs scripts, so it is not sandboxed. */
const createIsolates =
  (config: Live<Config>, own: readonly string[]) =>
  ({ path: { segments } }: RequestContext): boolean =>
    config.get().upstream.sandbox && !own.every((segment, index) => segment === segments[index])
