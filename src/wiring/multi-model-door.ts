// Builds the multi-model door: its dialect, its credential handlers, its upstream and the services behind it.
import { createBasicHandler } from '../auth/basic.ts'
import { createBearerHandler } from '../auth/bearer.ts'
import { createIsOwnCredential } from '../auth/own-credentials.ts'
import type { SessionRecorder } from '../auth/record-sessions.ts'
import { createSignInObserver } from '../auth/record-sign-ins.ts'
import { createRequirePassword } from '../auth/require-password.ts'
import { nowSeconds, SYSTEM_CLOCK } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import { deriveLive, type Live } from '../base/live.ts'
import { PRODUCT } from '../base/product.ts'
import { readServices, type Service } from '../config/open-sections.ts'
import type { Config } from '../config/options.ts'
import type { Settings } from '../config/settings.ts'
import { PAGE_TOKEN_HEADER } from '../dialects/admin-api/browser.ts'
import { INTENT_HEADER } from '../dialects/admin-api/steps.ts'
import { mountForwardAuth } from '../dialects/forward-auth/mount.ts'
import { isMounted } from '../dialects/mounted.ts'
import { MULTI_MODEL_BASIC } from '../dialects/multi-model/basic.ts'
import { withDeclinedChallenges } from '../dialects/multi-model/challenge.ts'
import { createDatabase, isDatabaseCreation } from '../dialects/multi-model/create-database.ts'
import { createMultiModelDialect, type MultiModelSettings } from '../dialects/multi-model/dialect.ts'
import { createGrantedDatabases } from '../dialects/multi-model/granted-databases.ts'
import { createIdentify, createRequireEntry, withoutPathTokens } from '../dialects/multi-model/identify.ts'
import { createServerMode } from '../dialects/multi-model/mode.ts'
import { namesDatabase } from '../dialects/multi-model/path.ts'
import { createFallback, ownRoutes, refuseBatch, standInRoutes } from '../dialects/multi-model/routes.ts'
import type { Secrets } from '../dialects/multi-model/secrets.ts'
import { createServices, type Services } from '../dialects/multi-model/services.ts'
import { createMultiModelSignIns, type MultiModelSignIns } from '../dialects/multi-model/sign-ins.ts'
import type { Upstream } from '../gateway/upstream.ts'
import type { Mount } from '../http/dispatch.ts'
import { createDoor, type Door } from '../http/door.ts'
import type { Dialect, RequestContext, Step } from '../http/request-context.ts'
import { describeRing } from '../keys/ring.ts'
import type { TokenSecrets } from '../live-config/secret-rings.ts'
import { mountAdminApi } from './admin-door.ts'
import type { Identify } from './gateway.ts'
import { createRecorder, type DoorParts } from './parts.ts'
import { toBasicAgeMs, toDoorLimits, toMultiModelSettings, toTrustRules } from './settings.ts'
import { createMultiModelUpstream, createServiceUpstream, type Judgement } from './upstream.ts'

export function createMultiModelDoor(parts: DoorParts): Door {
  const { directory, log } = parts
  const config = deriveLive(parts.liveConfig, ({ settings }) => settings.values)
  const settings = deriveLive(config, toMultiModelSettings)
  const { name, version } = config.get()['multi-model']
  for (const line of describeOpenDoor(config.get())) log.warn(line)
  warnOpenAccess(parts, describeOpenDoor)
  const shared = createSharedDeps(parts, config, settings)
  const signIns = createSignIns(parts, config, settings)
  const { identify, identifyAgain } = createDoorIdentify(parts, signIns, settings)
  const authenticate = parts.gateway.note(identify)
  // this door's handlers are the same in every configuration
  const judgement: Judgement = { identify: identifyAgain, isAsked: () => true, dialect: () => dialect }
  const upstream = createMultiModelUpstream(parts, config, judgement)
  const services = createMountedServices(parts, config, judgement)
  const auth = { ...shared, signIns }
  const secrets = toSecrets(parts.tokenSecrets)
  const users = { ...shared, isPassword: signIns.isPassword }
  const isUpstreamDown = async () =>
    upstream.isSet() && (await upstream.checkHealth('/_admin/server/availability')).kind !== 'up'
  const dialect: Dialect = createMultiModelDialect({
    ...shared,
    name,
    authenticate,
    routes: [
      ...ownRoutes({ auth, users, tokens: shared, secrets }),
      ...standInRoutes({ ...shared, version, product: PRODUCT, isServing: directory.isFresh, isUpstreamDown }),
    ],
    fallback: createFallback(auth, createForward(shared, upstream, services)),
    hasUpstream: upstream.isSet,
    reservedHeaders: [INTENT_HEADER, PAGE_TOKEN_HEADER],
    forwardPreflight: services.forwardPreflight,
  })
  return createDoor({
    dialect,
    mounts: createMounts(parts, authenticate, createRequireEntry({ ...shared, identify: authenticate })),
    limits: deriveLive(config, toDoorLimits),
    trust: deriveLive(config, toTrustRules),
    log,
  })
}

type SharedDeps = ReturnType<typeof createSharedDeps>

const createSharedDeps = (parts: DoorParts, config: Live<Config>, settings: Live<MultiModelSettings>) => ({
  mode: createServerMode(),
  directory: parts.directory,
  databases: createGrantedDatabases({
    directory: parts.directory,
    hasUpstream: () => config.get().upstream['multi-model'].length > 0,
    clock: SYSTEM_CLOCK,
  }),
  settings: settings.get,
  nowSeconds: () => nowSeconds(SYSTEM_CLOCK),
  requirePassword: createRequirePassword(parts.passwordProof),
})

const toIssuer = (config: Config): string => config['multi-model'].name.toLowerCase()

const toRecorder = ({ directory }: DoorParts, settings: Live<MultiModelSettings>): SessionRecorder =>
  createRecorder(directory, 'multi-model', () => settings.get().sessionTimeoutSeconds)

const createSignIns = (parts: DoorParts, config: Live<Config>, settings: Live<MultiModelSettings>): MultiModelSignIns =>
  createMultiModelSignIns({
    ...parts,
    events: parts.liveConfig.events,
    recorder: toRecorder(parts, settings),
    ring: parts.tokenSecrets.ring.get,
    issuer: toIssuer(config.get()),
    settings: settings.get,
    basicAgeMs: () => toBasicAgeMs(config.get()),
    clock: SYSTEM_CLOCK,
  })

function createDoorIdentify(parts: DoorParts, signIns: MultiModelSignIns, settings: Live<MultiModelSettings>) {
  const { directory, tokenSecrets, liveConfig } = parts
  const knowsUsers = () => settings.get().role === 'single'
  return createIdentify({
    bearer: createBearerHandler({
      directory,
      ring: tokenSecrets.ring.get,
      cache: tokenSecrets.cache,
      issuer: toIssuer(liveConfig.get().settings.values),
      knowsUsers,
      clock: SYSTEM_CLOCK,
    }),
    basic: createBasicHandler(MULTI_MODEL_BASIC, signIns.check),
    knowsUsers,
    observer: createSignInObserver(liveConfig.events, toRecorder(parts, settings)),
  })
}

/** The response of ArangoDB to the creation of a database is one line. */
const MAX_CREATION_BYTES = 1_048_576

/** Forwards what has no route here: to a service, or to the database. */
function createForward(shared: SharedDeps, upstream: Upstream, services: Services) {
  const forwardWith = (context: RequestContext, body: Buffer) =>
    upstream.forwardWhole(context, MAX_CREATION_BYTES, body)
  return (context: RequestContext) => {
    // Cardea's own paths have no API version: nothing with such a name is forwarded
    if (isMounted(context.path.segments) && !namesDatabase(context.path)) throw new Refusal('invalid_target')
    const response = services.forward(context)
    if (response !== undefined || !upstream.isSet()) return response
    refuseBatch(context.path.segments)
    return isDatabaseCreation(context) ? createDatabase({ ...shared, forwardWith }, context) : upstream.forward(context)
  }
}

function createMountedServices(parts: DoorParts, config: Live<Config>, judgement: Judgement): Services {
  const configured = readServices(parts.liveConfig.get().settings.open.services)
  warnOpenAccess(parts, (values) => describeOpen(configured, values))
  return createServices({
    services: configured.map((service) => ({
      ...service,
      forward: createServiceUpstream(service, { parts, config, judgement }).forward,
    })),
    isOwnCredential: createIsOwnCredential({
      ring: parts.tokenSecrets.ring.get,
      jwtKeys: parts.jwtKeys.get,
    }),
    ownsCors: () => config.get().http['trusted-origin'].length > 0,
  })
}

/** This door answers OPTIONS on the paths of other dialects too. */
function createMounts(parts: DoorParts, identify: Identify, requireEntry: Step['run']): readonly Mount[] {
  const authenticate = async (context: RequestContext) => withoutPathTokens(await identify(context))
  const mounts = [
    mountAdminApi(parts, { authenticate, requireEntry }),
    ...mountForwardAuth({ ...parts.gateway.forwardAuth, authenticate, requireEntry }),
  ]
  return mounts.map(({ segment, dialect }) => ({
    segment,
    dialect: withDeclinedChallenges(dialect),
    leaves: 'OPTIONS',
  }))
}

const toSecrets = ({ ring }: TokenSecrets): Secrets => ({
  describe: () => describeRing(ring.get()),
  async reload() {
    const load = await ring.reload()
    if (load.kind === 'ring') return { kind: 'reloaded' }
    return { kind: 'kept', errorNum: load.errorNum, reason: load.message }
  },
})

const describeOpenDoor = ({ server }: Config): readonly string[] =>
  server.authentication ? [] : ['the multi-model door is OPEN TO ANYONE: server.authentication is false']

/** One warning for each service that requires no credential. */
export const describeOpenServices = ({ values, open }: Settings): readonly string[] =>
  describeOpen(readServices(open.services), values)

const describeOpen = (services: readonly Service[], { server }: Config): readonly string[] =>
  services
    .filter(({ isRequired }) => !isRequired && (!server.authentication || server['authentication-system-only']))
    .map(({ name, mount }) => `service ${name} at /${mount.join('/')} is OPEN TO ANYONE`)

/** Logs each warning that a change of the configuration adds. */
function warnOpenAccess({ liveConfig, log }: DoorParts, describe: (config: Config) => readonly string[]): void {
  let before = describe(liveConfig.get().settings.values)
  liveConfig.onChange(({ settings }) => {
    const now = describe(settings.values)
    for (const line of now) if (!before.includes(line)) log.warn(line)
    before = now
  })
}
