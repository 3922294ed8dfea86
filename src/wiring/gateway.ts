// Opens what all upstreams share, and maps options to the settings of each: CouchDB, ArangoDB, services.
import { CREDENTIAL_COOKIES } from '../auth/credential.ts'
import { type Clock, nowSeconds, SYSTEM_CLOCK } from '../base/clock.ts'
import { createLive, deriveLive, type Live } from '../base/live.ts'
import type { Log } from '../base/log.ts'
import type { Service, ServiceDoor } from '../config/open-sections.ts'
import { type Config, toWireNames } from '../config/options.ts'
import { WEB_UI } from '../dialects/multi-model/access.ts'
import type { Directory } from '../directory/directory.ts'
import { toDocumentHints, toMultiModelHints, toServiceHints, type UpstreamHints } from '../gateway/hints.ts'
import { identityHeadersForService, type ToClaims, type ToIdentityHeaders } from '../gateway/identity-headers.ts'
import {
  createDocumentOpenProbes,
  createDocumentProbe,
  createMultiModelProbe,
  MULTI_MODEL_OPEN_PROBES,
} from '../gateway/identity-probe.ts'
import { OpenStreams } from '../gateway/open-streams.ts'
import { createUpstreamRegistry } from '../gateway/readiness.ts'
import { createUpstream, inspectOnce, type Upstream, type UpstreamDeps } from '../gateway/upstream.ts'
import type { UpstreamCheckDeps, UpstreamFinding } from '../gateway/upstream-check.ts'
import {
  createIdentityHeaders,
  DOCUMENT_IDENTITIES,
  MULTI_MODEL_IDENTITIES,
  toProxyHeaders,
} from '../gateway/upstream-identities.ts'
import { createUpstreamWatch, type UpstreamSettings } from '../gateway/upstream-request.ts'
import { REQUEST_ID_HEADER } from '../http/reply.ts'
import { type KeyRing, signerOf } from '../keys/ring.ts'
import { loadSecretRing } from '../keys/secret-files.ts'
import { createHmacSigner } from '../keys/sign.ts'
import { followRetirement } from '../live-config/cookie-secret.ts'
import type { LiveConfig } from '../live-config/live-config.ts'
import { openUpstreamSecrets, type TokenSecrets, toUpstreamSource } from '../live-config/secret-rings.ts'
import { openServiceKey } from '../live-config/service-key.ts'
import type { SecurityEvents } from '../observe/security-events.ts'
import { listIdentityHeaders, toUpstreamSettings } from './settings.ts'

export type Gateway = Awaited<ReturnType<typeof openGateway>>

/** `toClaims`: further claims in the tokens for services. */
export async function openGateway(
  liveConfig: LiveConfig,
  directory: Directory,
  tokenSecrets: TokenSecrets,
  toClaims?: ToClaims,
) {
  const streams = new OpenStreams()
  const ring = await openUpstreamSecrets(liveConfig)
  const serviceKey = openServiceKey(liveConfig)
  const registry = createUpstreamRegistry(liveConfig.kernel.log)
  const stopWatching = watchStreams(streams, liveConfig, directory, tokenSecrets)
  return {
    ...registry,
    streams,
    /** Signs for ArangoDB; `undefined` where no secret is configured. */
    ring,
    serviceKey,
    /** The headers that tell a service who sends a request. */
    toServiceIdentity: (name: string) =>
      identityHeadersForService(() => serviceKey.signer, name, liveConfig.kernel.clock, toClaims),
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
function watchStreams(
  streams: OpenStreams,
  liveConfig: LiveConfig,
  directory: Directory,
  tokenSecrets: TokenSecrets,
): () => void {
  const stopListening = directory.onRevoked((revocation) => streams.end(revocation))
  const revalidate = () => streams.revalidateAll()
  // In a microtask, after every other listener: streams must be revalidated with the new keys.
  liveConfig.onChange(() => queueMicrotask(revalidate))
  tokenSecrets.onReload(revalidate)
  const isRetirementDue = followRetirement(liveConfig)
  const timer = setInterval(() => {
    streams.expire(nowSeconds(liveConfig.kernel.clock))
    if (isRetirementDue()) revalidate()
  }, EXPIRY_CHECK_MS).unref()
  return () => {
    clearInterval(timer)
    stopListening()
  }
}

export type Revalidate = UpstreamDeps['revalidate']

/** What an upstream is built from. */
interface UpstreamParts {
  readonly clock: Clock
  readonly gateway: Gateway
  readonly config: Live<Config>
  readonly events: SecurityEvents
  readonly log: Log
  /** How many threads share the connections to the upstreams. */
  readonly threads: number
}

/** How one upstream differs from the others. */
interface OwnDeps extends Pick<UpstreamDeps, 'toIdentityHeaders' | 'inspection' | 'requestIdHeader'> {
  toSettings(values: Config): Pick<UpstreamSettings, 'urls' | 'spool' | 'ownsCors' | 'sandboxedExcept'>
  hints(): UpstreamHints
}

function createConfiguredUpstream(
  { gateway, config, events, log, threads }: UpstreamParts,
  revalidate: Revalidate,
  { toSettings, hints, ...own }: OwnDeps,
): Upstream {
  const settings = deriveLive(config, (values) => ({
    ...toUpstreamSettings(values, log, threads),
    ...toSettings(values),
  }))
  const { inspectAgain } = gateway.readiness
  return createUpstream({
    ...own,
    settings: settings.get,
    identityHeaderNames: deriveLive(config, listIdentityHeaders).get,
    ownCookies: CREDENTIAL_COOKIES,
    streams: gateway.streams,
    revalidate,
    watch: createUpstreamWatch(events, hints, inspectAgain),
  })
}

/** CouchDB behind the document door. */
export function createDocumentUpstream(parts: UpstreamParts, revalidate: Revalidate): Upstream {
  const { config, gateway, clock } = parts
  const toIdentityHeaders = identityHeadersForDocument(config, clock)
  const inspection = toDocumentInspection(config, toIdentityHeaders)
  const upstream = createConfiguredUpstream(parts, revalidate, {
    toSettings: (values) => ({
      urls: values.upstream.document,
      spool: undefined,
      ownsCors: OWNS_CORS.document(values),
      // the database's own console runs scripts
      sandboxedExcept: values.upstream.sandbox ? ['_utils'] : undefined,
    }),
    toIdentityHeaders,
    inspection,
    hints: inspection.hints,
    requestIdHeader: 'X-Couch-Request-ID',
  })
  return gateway.register(upstream, { door: 'document', healthPath: '/_up' })
}

function toDocumentInspection(config: Live<Config>, toIdentityHeaders: ToIdentityHeaders): UpstreamCheckDeps {
  const { username, roles } = toProxyHeaders(config.get().document.name)
  return {
    probe: createDocumentProbe(toIdentityHeaders),
    openProbes: createDocumentOpenProbes(username, roles),
    hints: () => toDocumentHints(config.get().upstream['document-identity']),
  }
}

/** The headers that tell CouchDB who sends a request. */
export function identityHeadersForDocument(config: Live<Config>, clock: Clock): ToIdentityHeaders {
  const signer = deriveLive(config, ({ upstream }) => createHmacSigner(upstream['document-secret']))
  const upstream = {
    secret: () => config.get().upstream['document-secret'],
    signer: signer.get,
    name: () => config.get().document.name,
    clock,
  }
  return createIdentityHeaders(DOCUMENT_IDENTITIES, upstream, () => config.get().upstream['document-identity'])
}

/** ArangoDB behind the multi-model door. It does not accept chunked request bodies, so they are spooled. */
export function createMultiModelUpstream(parts: UpstreamParts, revalidate: Revalidate): Upstream {
  const { config, gateway, clock } = parts
  const toIdentityHeaders = identityHeadersForMultiModel(config, () => gateway.ring?.get(), clock)
  const inspection = toMultiModelInspection(config, toIdentityHeaders)
  const upstream = createConfiguredUpstream(parts, revalidate, {
    toSettings: (values) => ({
      urls: values.upstream['multi-model'],
      spool: { bodyBytes: values.upstream['spool-bytes'], totalBytes: values.upstream['spool-total-bytes'] },
      ownsCors: OWNS_CORS['multi-model'](values),
      sandboxedExcept: values.upstream.sandbox ? WEB_UI : undefined,
    }),
    toIdentityHeaders,
    inspection,
    hints: toMultiModelHints,
    requestIdHeader: REQUEST_ID_HEADER,
  })
  return gateway.register(upstream, { door: 'multi-model', healthPath: '/_admin/server/availability' })
}

const toMultiModelInspection = (config: Live<Config>, toIdentityHeaders: ToIdentityHeaders): UpstreamCheckDeps => ({
  probe: createMultiModelProbe(toIdentityHeaders, () => isSigned(config.get())),
  openProbes: MULTI_MODEL_OPEN_PROBES,
  hints: toMultiModelHints,
})

const isSigned = ({ upstream }: Config): boolean => MULTI_MODEL_IDENTITIES[upstream['multi-model-identity']].isSigned

/** The inspection of every upstream with these options, for a command without a server. */
export async function inspectUpstreams(values: Config, log: Log): Promise<readonly UpstreamFinding[]> {
  const config = createLive(values)
  const common = toUpstreamSettings(values, log)
  const secrets = await loadSecretRing(toUpstreamSource(values))
  const ring = secrets.kind === 'ring' ? secrets.ring : undefined
  const document = toDocumentInspection(config, identityHeadersForDocument(config, SYSTEM_CLOCK))
  const multiModel = toMultiModelInspection(
    config,
    identityHeadersForMultiModel(config, () => ring, SYSTEM_CLOCK),
  )
  const found = await Promise.all([
    inspectOnce({ ...common, urls: values.upstream.document }, document),
    inspectOnce({ ...common, urls: values.upstream['multi-model'] }, multiModel),
  ])
  return found.flat()
}

function identityHeadersForMultiModel(
  config: Live<Config>,
  findRing: () => KeyRing | undefined,
  clock: Clock,
): ToIdentityHeaders {
  const upstream = {
    signer: () => {
      const ring = findRing()
      return ring && signerOf(ring)
    },
    issuer: toWireNames(config.get()).issuer,
    admin: () => config.get().upstream['multi-model-admin'],
    clock,
  }
  return createIdentityHeaders(MULTI_MODEL_IDENTITIES, upstream, () => config.get().upstream['multi-model-identity'])
}

/** Whether a door itself decides what pages of other origins may do. */
export const OWNS_CORS: Readonly<Record<ServiceDoor, (values: Config) => boolean>> = {
  document: ({ chttpd }) => chttpd.enable_cors,
  'multi-model': ({ http }) => http['trusted-origin'].length > 0,
}

/** An application behind a door. Its pages run scripts on purpose, so they are not sandboxed. */
export function createServiceUpstream(
  { name, url }: Service,
  door: ServiceDoor,
  parts: UpstreamParts,
  revalidate: Revalidate,
): Upstream {
  const { gateway } = parts
  const upstream = createConfiguredUpstream(parts, revalidate, {
    toSettings: (values) => ({
      urls: [url],
      spool: undefined,
      ownsCors: OWNS_CORS[door](values),
      sandboxedExcept: undefined,
    }),
    toIdentityHeaders: gateway.toServiceIdentity(name),
    hints: () => toServiceHints(name),
    requestIdHeader: REQUEST_ID_HEADER,
  })
  return gateway.register(upstream)
}
