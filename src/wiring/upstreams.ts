// The upstreams behind the doors, each with its settings: CouchDB, ArangoDB, services.

import { CREDENTIAL_COOKIES } from '../auth/credential.ts'
import { createIsOwnCredential } from '../auth/own-credentials.ts'
import { type Clock, SYSTEM_CLOCK } from '../base/clock.ts'
import { createLive, deriveLive, type Live } from '../base/live.ts'
import type { Log } from '../base/log.ts'
import { readServices, type Service, type ServiceDoor } from '../config/open-sections.ts'
import { type Config, toWireNames } from '../config/options.ts'
import { WEB_UI } from '../dialects/multi-model/access.ts'
import { holdBackOwnCredentials, type MountedService } from '../dialects/services.ts'
import { toDocumentHints, toMultiModelHints, toServiceHints, type UpstreamHints } from '../gateway/hints.ts'
import type { ToIdentityHeaders } from '../gateway/identity-headers.ts'
import {
  createDocumentOpenProbes,
  createDocumentProbe,
  createMultiModelProbe,
  MULTI_MODEL_OPEN_PROBES,
} from '../gateway/identity-probe.ts'
import { createUpstream, inspectOnce, openAsked, type Upstream, type UpstreamDeps } from '../gateway/upstream.ts'
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
import { loadUpstreamAuthorities } from '../live-config/certificates.ts'
import { divideConnections } from '../live-config/door-settings.ts'
import { toUpstreamSource } from '../live-config/secret-rings.ts'
import type { Core } from './core.ts'
import type { SignIns } from './sign-in.ts'

export type Revalidate = UpstreamDeps['revalidate']

/** How one upstream differs from the others. */
interface OwnDeps extends Pick<UpstreamDeps, 'toIdentityHeaders' | 'inspection' | 'requestIdHeader'> {
  toSettings(values: Config): Pick<UpstreamSettings, 'urls' | 'spool' | 'ownsCors' | 'sandboxedExcept'>
  hints(): UpstreamHints
}

function createConfiguredUpstream(
  { gateway, config, kernel: { events, log, siblings } }: Core,
  revalidate: Revalidate,
  { toSettings, hints, ...own }: OwnDeps,
): Upstream {
  const settings = deriveLive(config, (values) => ({
    ...toUpstreamSettings(values, log, siblings.count),
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
export function createDocumentUpstream(core: Core, revalidate: Revalidate): Upstream {
  const { config, gateway, kernel } = core
  const toIdentityHeaders = identityHeadersForDocument(config, kernel.clock)
  const inspection = toDocumentInspection(config, toIdentityHeaders)
  const upstream = createConfiguredUpstream(core, revalidate, {
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
export function createMultiModelUpstream(core: Core, revalidate: Revalidate): Upstream {
  const { config, gateway, kernel } = core
  const toIdentityHeaders = identityHeadersForMultiModel(config, () => gateway.ring?.get(), kernel.clock)
  const inspection = toMultiModelInspection(config, toIdentityHeaders)
  const upstream = createConfiguredUpstream(core, revalidate, {
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

/** The databases behind the doors with these options, for a command without a server. `close` ends the connections. */
export async function openAskedDatabases(values: Config, log: Log) {
  const config = createLive(values)
  const secrets = await loadSecretRing(toUpstreamSource(values))
  const ring = secrets.kind === 'ring' ? secrets.ring : undefined
  const identities = {
    document: identityHeadersForDocument(config, SYSTEM_CLOCK),
    'multi-model': identityHeadersForMultiModel(config, () => ring, SYSTEM_CLOCK),
  }
  const common = toUpstreamSettings(values, log, 1)
  const opened = new Map(
    (['document', 'multi-model'] as const).flatMap((door) => {
      const urls = values.upstream[door]
      return urls.length === 0 ? [] : [[door, openAsked({ ...common, urls }, identities[door])] as const]
    }),
  )
  return {
    // modules name doors by text; one that does not exist is not found
    find: (door: string) => opened.get(door as ServiceDoor),
    close: async () => void (await Promise.all([...opened.values()].map((each) => each.close()))),
  }
}

/** The inspection of every upstream with these options, for a command without a server. */
export async function inspectUpstreams(values: Config, log: Log): Promise<readonly UpstreamFinding[]> {
  const config = createLive(values)
  const common = toUpstreamSettings(values, log, 1)
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
const OWNS_CORS: Readonly<Record<ServiceDoor, (values: Config) => boolean>> = {
  document: ({ chttpd }) => chttpd.enable_cors,
  'multi-model': ({ http }) => http['trusted-origin'].length > 0,
}

/** The applications behind a door. */
export function createServices(
  core: Core,
  { jwtKeys, external }: SignIns,
  door: ServiceDoor,
  revalidate: Revalidate,
): readonly MountedService[] {
  const { liveConfig, config, tokenSecrets } = core
  const keys = { ring: tokenSecrets.ring.get, jwtKeys: jwtKeys.get, issuers: external.issuers }
  const isOwnCredential = createIsOwnCredential(keys)
  const services = readServices(liveConfig.get().settings.open.services).filter(({ doors }) => doors.includes(door))
  return services.map((service) => ({
    ...service,
    ownsPreflights: () => service.hasPreflights && !OWNS_CORS[door](config.get()),
    isOwnCredential,
    forward: holdBackOwnCredentials(createServiceUpstream(service, door, core, revalidate).forward, isOwnCredential),
  }))
}

/** Its pages run scripts on purpose, so they are not sandboxed. */
function createServiceUpstream(
  { name, url }: Service,
  door: ServiceDoor,
  core: Core,
  revalidate: Revalidate,
): Upstream {
  const { gateway } = core
  const upstream = createConfiguredUpstream(core, revalidate, {
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

/**
 * The settings that all upstreams share. An upstream may have as many connections as the door may have clients: each of
 * `processes` has its share.
 */
const toUpstreamSettings = (
  config: Config,
  log: Log,
  processes: number,
): Omit<UpstreamSettings, 'urls' | 'spool' | 'ownsCors' | 'sandboxedExcept'> => ({
  limits: {
    connectTimeoutMs: config.upstream['connect-timeout'],
    firstByteTimeoutMs: config.upstream['first-byte-timeout'],
    maxConnections: divideConnections(config.door, processes)['max-connections'],
    authorities: loadUpstreamAuthorities(config, log),
  },
  idleTimeoutMs: config.upstream['idle-timeout'],
})

/** The headers that carry an identity, under their configured names. */
function listIdentityHeaders(config: Config): readonly string[] {
  const { userNameHeader, rolesHeader, tokenHeader } = toWireNames(config)
  const { x_forwarded_host, x_forwarded_proto, x_forwarded_ssl, peer_header } = config.chttpd
  const names = [userNameHeader, rolesHeader, tokenHeader, x_forwarded_host, x_forwarded_proto, x_forwarded_ssl]
  return [...names, peer_header].filter((name) => name !== '')
}
