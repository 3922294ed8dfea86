// Maps options to the settings of each upstream: CouchDB, ArangoDB, and the services behind the multi-model door.
import { readFileSync } from 'node:fs'
import { mintProxyToken } from '../auth/proxy.ts'
import { type ConfirmDeps, createConfirmCredential, createRevalidate } from '../auth/revalidate.ts'
import { SESSION_COOKIES } from '../auth/session/set-cookie.ts'
import { SYSTEM_CLOCK } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import { deriveLive, type Live } from '../base/live.ts'
import type { Log } from '../base/log.ts'
import type { Service } from '../config/open-sections.ts'
import { type Config, toWireNames } from '../config/options.ts'
import { ADMIN_COOKIE } from '../dialects/admin-api/browser.ts'
import { createUpstreamWatch } from '../gateway/health.ts'
import { toAdvice, toDocumentHints, toMultiModelHints, toServiceHints } from '../gateway/hints.ts'
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
import { createUpstream, type Upstream, type UpstreamDeps, type UpstreamSettings } from '../gateway/upstream.ts'
import type { Dialect, RequestContext } from '../http/request-context.ts'
import { signWithRing } from '../keys/ring.ts'
import { createHmacSigner } from '../keys/sign.ts'
import type { DoorParts } from './door-parts.ts'
import { toIterationLimits } from './settings.ts'

/** An upstream may have as many connections as the door may have clients. */
const toLimits = (config: Config, log: Log): UpstreamSettings['limits'] => ({
  connectTimeoutMs: toMs(config.upstream['connect-timeout']),
  firstByteTimeoutMs: toMs(config.upstream['first-byte-timeout']),
  maxConnections: config.door['max-connections'],
  authorities: loadAuthorities(config.upstream['ca-file'], log),
})

const toMs = (seconds: number): number => Math.round(seconds * 1000)

/** Without a readable file no certificate is trusted: requests fail instead of reaching an unverified server. */
function loadAuthorities(file: string, log: Log): string {
  if (file === '') return ''
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    log.error('upstream.ca-file cannot be read', { file, error })
    return 'none'
  }
}

function toUpstreamSettings(config: Config, log: Log): Omit<UpstreamSettings, 'urls' | 'spool' | 'ownsCors'> {
  return { limits: toLimits(config, log), idleTimeoutMs: toMs(config.upstream['idle-timeout']) }
}

/** The headers that carry an identity, under their configured names. */
function listIdentityHeaders(config: Config): readonly string[] {
  const { userNameHeader, rolesHeader, tokenHeader } = toWireNames(config)
  const { x_forwarded_host, x_forwarded_proto, x_forwarded_ssl, peer_header } = config.chttpd
  const names = [userNameHeader, rolesHeader, tokenHeader, x_forwarded_host, x_forwarded_proto, x_forwarded_ssl]
  return [...names, peer_header].filter((name) => name !== '')
}

type Common = Omit<UpstreamDeps, 'settings' | 'toIdentityHeaders' | 'requestIdHeader' | 'isolates' | 'probe' | 'watch'>

/** How a door authenticates a running request again. */
export interface Revalidation extends Pick<ConfirmDeps<RequestContext>, 'identify' | 'isConfigured'> {
  dialect(): Pick<Dialect, 'steps'>
}

async function checkRights(context: RequestContext, { steps }: Pick<Dialect, 'steps'>): Promise<void> {
  for (const step of steps) if (step.checksRights) await step.run(context)
}

const toConfirmDeps = (
  { directory, liveConfig }: DoorParts,
  revalidation: Revalidation,
): ConfirmDeps<RequestContext> => ({
  ...revalidation,
  checkRights: (context) => checkRights(context, revalidation.dialect()),
  directory,
  iterationLimits: () => toIterationLimits(liveConfig.get().settings.values),
})

/** Confirms the credentials of requests that change something. */
export const createConfirm = (parts: DoorParts, revalidation: Revalidation) =>
  createConfirmCredential(toConfirmDeps(parts, revalidation))

const toCommonDeps = (parts: DoorParts, config: Live<Config>, revalidation: Revalidation): Common => ({
  identityHeaderNames: deriveLive(config, listIdentityHeaders).get,
  ownCookies: [...SESSION_COOKIES, ADMIN_COOKIE],
  streams: parts.gateway.streams,
  revalidate: createRevalidate(toConfirmDeps(parts, revalidation)),
  clock: SYSTEM_CLOCK,
})

/** CouchDB behind the document door. */
export function createDocumentUpstream(parts: DoorParts, config: Live<Config>, revalidation: Revalidation): Upstream {
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
  const hints = () => toDocumentHints(config.get().upstream['document-identity'])
  return parts.gateway.register(
    createUpstream({
      ...toCommonDeps(parts, config, revalidation),
      settings: settings.get,
      isolates: createIsolates(config, ['_utils']),
      toIdentityHeaders,
      probe: createDocumentProbe(toIdentityHeaders),
      inspection: {
        openProbes: createDocumentOpenProbes(toUpstreamHeaders(config.get().document.name)),
        advice: () => toAdvice(hints()),
      },
      watch: createUpstreamWatch(parts.liveConfig.events, hints, SYSTEM_CLOCK),
      requestIdHeader: 'X-Couch-Request-ID',
    }),
    { door: 'document', healthPath: '/_up' },
  )
}

/** The headers that tell CouchDB who sends a request. */
export function identityHeadersForDocument(config: Live<Config>): ToIdentityHeaders {
  const secret = () => config.get().upstream['document-secret']
  const signer = deriveLive(config, ({ upstream }) => createHmacSigner(upstream['document-secret']))
  const byToken = identityHeadersByDocumentToken({
    signer: () => signer.get() ?? refuseToSign(),
    rolesClaim: () => `_${config.get().document.name.toLowerCase()}.roles`,
    clock: SYSTEM_CLOCK,
  })
  const byHeaders = identityHeadersByProxyHeaders({
    names: () => toUpstreamHeaders(config.get().document.name),
    prove: (name) => mintProxyToken(name, { secret: Buffer.from(secret()), algorithm: 'sha256' }),
  })
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
export function createMultiModelUpstream(parts: DoorParts, config: Live<Config>, revalidation: Revalidation): Upstream {
  const settings = deriveLive(
    config,
    (values): UpstreamSettings => ({
      ...toUpstreamSettings(values, parts.log),
      urls: values.upstream['multi-model'],
      spool: { bodyBytes: values.upstream['spool-bytes'], totalBytes: values.upstream['spool-total-bytes'] },
      ownsCors: values.http['trusted-origin'].length > 0,
    }),
  )
  const toIdentityHeaders = identityHeadersForMultiModel(parts, config)
  return parts.gateway.register(
    createUpstream({
      ...toCommonDeps(parts, config, revalidation),
      settings: settings.get,
      isolates: createIsolates(config, ['_admin', 'aardvark']),
      toIdentityHeaders,
      probe: createMultiModelProbe(toIdentityHeaders, () => config.get().upstream['multi-model-identity'] === 'user'),
      inspection: { openProbes: MULTI_MODEL_OPEN_PROBES, advice: () => toAdvice(toMultiModelHints()) },
      watch: createUpstreamWatch(parts.liveConfig.events, toMultiModelHints, SYSTEM_CLOCK),
      requestIdHeader: 'X-Request-Id',
    }),
    { door: 'multi-model', healthPath: '/_admin/server/availability' },
  )
}

function identityHeadersForMultiModel({ gateway }: DoorParts, config: Live<Config>): ToIdentityHeaders {
  const admin = () => config.get().upstream['multi-model-admin']
  const byClient = identityHeadersByClient(admin)
  const byToken = identityHeadersByUserToken({
    signer: () => {
      const ring = gateway.ring?.get() ?? refuseToSign()
      return { version: ring.version, sign: (claims) => signWithRing(ring, claims) }
    },
    issuer: toWireNames(config.get()).issuer,
    admin,
    clock: SYSTEM_CLOCK,
  })
  return (who) => (config.get().upstream['multi-model-identity'] === 'client' ? byClient : byToken)(who)
}

/** An application behind the multi-model door. */
export function createServiceUpstream({ name, url }: Service, deps: ServiceUpstreamDeps): Upstream {
  const { parts, config, revalidation } = deps
  const settings = deriveLive(
    config,
    (values): UpstreamSettings => ({
      ...toUpstreamSettings(values, parts.log),
      urls: [url],
      spool: undefined,
      ownsCors: values.http['trusted-origin'].length > 0,
    }),
  )
  return parts.gateway.register(
    createUpstream({
      ...toCommonDeps(parts, config, revalidation),
      settings: settings.get,
      // an application is mounted at this origin on purpose, and its pages run scripts
      isolates: () => false,
      toIdentityHeaders: identityHeadersForService({
        signer: () => parts.gateway.serviceKey.signer,
        service: name,
        clock: SYSTEM_CLOCK,
      }),
      watch: createUpstreamWatch(parts.liveConfig.events, () => toServiceHints(name), SYSTEM_CLOCK),
      requestIdHeader: 'X-Request-Id',
    }),
  )
}

interface ServiceUpstreamDeps {
  readonly parts: DoorParts
  readonly config: Live<Config>
  readonly revalidation: Revalidation
}

/** The database's own console runs scripts, so it is not sandboxed. */
const createIsolates =
  (config: Live<Config>, own: readonly string[]) =>
  ({ path: { segments } }: RequestContext): boolean =>
    config.get().upstream.sandbox && !own.every((segment, index) => segment === segments[index])
