// Builds the multi-model door: its dialect, its credential handlers, its upstream and the services behind it.

import { createBasicHandler } from '../auth/basic.ts'
import { createBearerHandler } from '../auth/bearer.ts'
import { createCertificateHandler } from '../auth/certificate.ts'
import { ACCEPTED } from '../auth/credential.ts'
import { createIsOwnCredential } from '../auth/own-credentials.ts'
import type { SessionRecorder } from '../auth/record-sessions.ts'
import { createSignInObserver } from '../auth/record-sign-ins.ts'
import { createRequirePassword } from '../auth/require-password.ts'
import { nowSeconds, SYSTEM_CLOCK } from '../base/clock.ts'
import { deriveLive, type Live } from '../base/live.ts'
import { PRODUCT } from '../base/product.ts'
import { readServices } from '../config/open-sections.ts'
import { type Config, toWireNames } from '../config/options.ts'
import { PAGE_TOKEN_HEADER } from '../dialects/admin-api/browser.ts'
import { INTENT_HEADER } from '../dialects/admin-api/steps.ts'
import { mountForwardAuth } from '../dialects/forward-auth/routes.ts'
import {
  type AuthenticateDeps,
  createAuthenticate,
  createRequireEntry,
  MULTI_MODEL_BASIC,
} from '../dialects/multi-model/authenticate.ts'
import type { MultiModelDeps } from '../dialects/multi-model/deps.ts'
import { createMultiModelDialect, withDeclinedChallenges } from '../dialects/multi-model/dialect.ts'
import { GrantedDatabases } from '../dialects/multi-model/granted-databases.ts'
import { createServerMode } from '../dialects/multi-model/mode.ts'
import { selectCredentials } from '../dialects/multi-model/rights.ts'
import { createFallback, ownRoutes, standInRoutes } from '../dialects/multi-model/routes.ts'
import { createServices, type Services } from '../dialects/multi-model/services.ts'
import type { Databases, MultiModelSettings } from '../dialects/multi-model/settings.ts'
import { createSignInService, type SignInService } from '../dialects/multi-model/sign-in.ts'
import { isMounted } from '../dialects/own-paths.ts'
import type { Mount } from '../http/dispatch.ts'
import { createDoor, type Door } from '../http/door.ts'
import type { Dialect } from '../http/request-context.ts'
import { warnOpenAccess } from '../live-config/open-access.ts'
import { mountAdminApi } from './admin-door.ts'
import { createRecorder, createRevalidation, type DoorParts, toBearerDeps, toDoorOptions } from './door-parts.ts'
import { createMultiModelUpstream, createServiceUpstream, type UpstreamParts } from './gateway.ts'
import { toBasicAgeMs, toMultiModelSettings } from './settings.ts'

export function createMultiModelDoor(parts: DoorParts): Door {
  const config = deriveLive(parts.liveConfig, ({ settings }) => settings.values)
  const settings = deriveLive(config, toMultiModelSettings)
  warnOpenAccess(parts.liveConfig)
  const databases = new GrantedDatabases({
    directory: parts.directory,
    hasUpstream: () => config.get().upstream['multi-model'].length > 0,
    clock: SYSTEM_CLOCK,
  })
  const signIns = createSignIns(parts, config, settings)
  const credentials = createCredentials(parts, signIns, settings)
  const own = createAuthenticate(credentials, ACCEPTED.multiModel, selectCredentials)
  const { confirm, revalidate } = createRevalidation(parts, {
    identify: own.authenticateAgain,
    // this door's handlers are the same in every configuration
    isConfigured: () => true,
    dialect: () => dialect,
  })
  const dialect = createDialect({
    ...toDialectDeps(parts, config.get()),
    settings: settings.get,
    databases,
    signIns,
    authenticate: parts.gateway.withStreamEpoch(own.authenticate),
    confirmCredential: confirm,
    upstream: createMultiModelUpstream({ ...parts, config, revalidate }),
    services: createMountedServices({ ...parts, config, revalidate }),
  })
  return createDoor({
    ...toDoorOptions(parts, 'multi-model'),
    dialect: { ...dialect, confirmCredential: confirm },
    mounts: createMounts(parts, credentials, settings, databases),
    tracing: parts.tracing,
  })
}

const createDialect = (deps: MultiModelDeps): Dialect =>
  createMultiModelDialect({
    ...deps,
    routes: [...ownRoutes(deps), ...standInRoutes(deps)],
    fallback: createFallback(deps),
  })

const toDialectDeps = (parts: DoorParts, config: Config) => ({
  name: config['multi-model'].name,
  version: config['multi-model'].version,
  product: PRODUCT,
  mode: createServerMode(),
  directory: parts.directory,
  ring: parts.tokenSecrets.ring,
  checkHealth: parts.checkHealth,
  requirePassword: createRequirePassword(parts.passwordProof),
  reservedHeaders: [INTENT_HEADER, PAGE_TOKEN_HEADER],
  isMounted,
  nowSeconds: () => nowSeconds(SYSTEM_CLOCK),
})

const toRecorder = ({ directory }: DoorParts, settings: Live<MultiModelSettings>): SessionRecorder =>
  createRecorder(directory, 'multi-model', () => settings.get().sessionTimeoutSeconds)

const createSignIns = (parts: DoorParts, config: Live<Config>, settings: Live<MultiModelSettings>): SignInService =>
  createSignInService({
    ...parts,
    events: parts.liveConfig.kernel.events,
    recorder: toRecorder(parts, settings),
    ring: parts.tokenSecrets.ring.get,
    issuer: toWireNames(config.get()).issuer,
    settings: settings.get,
    basicAgeMs: () => toBasicAgeMs(config.get()),
    clock: SYSTEM_CLOCK,
  })

function createCredentials(
  parts: DoorParts,
  signIns: SignInService,
  settings: Live<MultiModelSettings>,
): AuthenticateDeps {
  const { liveConfig, directory } = parts
  // a change of the option takes effect after a restart
  const hasCertificates = liveConfig.get().settings.values.ssl['client-ca'] !== ''
  const knowsUsers = () => settings.get().role === 'single'
  return {
    bearer: createBearerHandler(toBearerDeps(parts)),
    basic: createBasicHandler(MULTI_MODEL_BASIC, signIns.check),
    certificate: hasCertificates ? createCertificateHandler({ directory, clock: SYSTEM_CLOCK }) : undefined,
    knowsUsers,
    observer: createSignInObserver(liveConfig.kernel.events, toRecorder(parts, settings)),
  }
}

function createMountedServices(parts: DoorParts & UpstreamParts): Services {
  const configured = readServices(parts.liveConfig.get().settings.open.services)
  return createServices(
    configured.map((service) => ({ ...service, forward: createServiceUpstream(service, parts).forward })),
    createIsOwnCredential({ ring: parts.tokenSecrets.ring.get, jwtKeys: parts.jwtKeys.get }),
    () => parts.config.get().http['trusted-origin'].length > 0,
  )
}

/** This door answers OPTIONS on the paths of other dialects too. */
function createMounts(
  parts: DoorParts,
  credentials: AuthenticateDeps,
  settings: Live<MultiModelSettings>,
  databases: Databases,
): readonly Mount[] {
  const { authenticate } = createAuthenticate(credentials, ACCEPTED.multiModelEntry)
  const requireEntry = createRequireEntry(settings.get, databases, authenticate)
  const adminApi = createAuthenticate(credentials, ACCEPTED.multiModelAdminApi)
  const mounts = [
    mountAdminApi(parts, { ...adminApi, isConfigured: () => true, requireEntry }),
    ...mountForwardAuth({
      ...parts.forwardAuth,
      authenticate: createAuthenticate(credentials, ACCEPTED.multiModelForwardAuth).authenticate,
      requireEntry,
    }),
  ]
  return mounts.map(({ segment, dialect }) => ({
    segment,
    dialect: withDeclinedChallenges(dialect),
    methodOfDoor: 'OPTIONS',
  }))
}
