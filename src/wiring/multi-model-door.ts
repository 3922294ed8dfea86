// The multi-model door, wired: its dialect, its own ordered credentials, and the live options it needs.

import { authenticate } from '../auth/authenticate.ts'
import { createBasicHandler } from '../auth/basic.ts'
import { createBearerHandler } from '../auth/bearer.ts'
import type { CredentialHandler } from '../auth/handler.ts'
import { createSignInObserver, type SignInObserver } from '../auth/record-sign-ins.ts'
import { createRequirePassword } from '../auth/require-password.ts'
import { nowSeconds, SYSTEM_CLOCK } from '../base/clock.ts'
import { isClientError, Refusal } from '../base/errors.ts'
import { deriveLive, type Live } from '../base/live.ts'
import { PRODUCT } from '../base/product.ts'
import type { Config } from '../config/options.ts'
import { PAGE_TOKEN_HEADER } from '../dialects/admin-api/browser.ts'
import { INTENT_HEADER } from '../dialects/admin-api/steps.ts'
import { MULTI_MODEL_BASIC } from '../dialects/multi-model/basic.ts'
import { withDeclinedChallenges } from '../dialects/multi-model/challenge.ts'
import { createDatabase, isDatabaseCreation } from '../dialects/multi-model/create-database.ts'
import { createMultiModelDialect, type MultiModelSettings } from '../dialects/multi-model/dialect.ts'
import {
  areAllPathsClosed,
  authorizeRequest,
  type Databases,
  examinedOn,
  type GateSettings,
  isExempt,
} from '../dialects/multi-model/gate.ts'
import { createGrantedDatabases } from '../dialects/multi-model/granted-databases.ts'
import { createServerMode } from '../dialects/multi-model/mode.ts'
import { namesDatabase } from '../dialects/multi-model/path.ts'
import { createFallback, ownRoutes, refuseBatch, standInRoutes } from '../dialects/multi-model/routes.ts'
import type { Secrets } from '../dialects/multi-model/secrets.ts'
import { createMultiModelSignIns, type MultiModelSignIns } from '../dialects/multi-model/sign-ins.ts'
import { ANONYMOUS, type Authenticated } from '../directory/identity.ts'
import type { Mount } from '../http/dispatch.ts'
import { createDoor, type Door } from '../http/door.ts'
import type { Dialect, RequestContext } from '../http/request-context.ts'
import { describeRing } from '../keys/ring.ts'
import type { TokenSecrets } from '../live-config/token-secrets.ts'
import { mountControl } from './control.ts'
import type { DoorParts } from './doors.ts'
import type { Identify } from './gateway.ts'
import { isMounted } from './mounted.ts'
import { toBasicAgeMs, toDoorLimits, toMultiModelSettings, toTrustRules } from './options.ts'
import { createServices } from './services.ts'
import { createMultiModelUpstream, type Judgement } from './upstream.ts'
import { warnOfOpenings } from './warn-open-access.ts'
import { mountWayside, type RequireEntry } from './wayside.ts'

export function createMultiModelDoor(parts: DoorParts): Door {
  const { liveConfig, directory, log } = parts
  const config = deriveLive(liveConfig, ({ settings }) => settings.values)
  const settings = deriveLive(config, toMultiModelSettings)
  const { name, version } = config.get()['multi-model']
  for (const line of describeOpenDoor(config.get())) log.warn(line)
  warnOfOpenings(parts, describeOpenDoor)
  const signIns = createSignIns(parts, config, settings)
  const databases = createGrantedDatabases({
    directory,
    hasUpstream: () => config.get().upstream['multi-model'].length > 0,
    clock: SYSTEM_CLOCK,
  })
  const shared = {
    mode: createServerMode(),
    directory,
    databases,
    settings: settings.get,
    nowSeconds: () => nowSeconds(SYSTEM_CLOCK),
    requirePassword: createRequirePassword(parts.passwordProof),
  }
  const { identify: look, identifyAgain } = createIdentify(parts, signIns, settings.get)
  const identify = parts.gateway.note(look)
  const auth = { ...shared, signIns }
  // which handlers there are is decided at the start
  const judgement: Judgement = { identify: identifyAgain, isAsked: () => true, dialect: () => dialect }
  const upstream = createMultiModelUpstream(parts, config, judgement)
  const isUpstreamDown = async () =>
    upstream.isSet() && (await upstream.checkHealth('/_admin/server/availability')).kind !== 'up'
  const { isPassword } = signIns
  const routes = [
    ...ownRoutes({ auth, users: { ...shared, isPassword }, tokens: shared, secrets: toSecrets(parts.tokenSecrets) }),
    ...standInRoutes({ ...shared, version, product: PRODUCT, isServing: directory.isFresh, isUpstreamDown }),
  ]
  const services = createServices(parts, config, judgement)
  const forwardWith = (context: RequestContext, body: Buffer) =>
    upstream.forwardWhole(context, MAX_CREATION_BYTES, body)
  const creation = { ...shared, forwardWith }
  const forward = (context: RequestContext) => {
    // Cardea's own paths have no API version: nothing with such a name is forwarded
    if (isMounted(context.path.segments) && !namesDatabase(context.path)) throw new Refusal('invalid_target')
    const response = services.forward(context)
    if (response !== undefined || !upstream.isSet()) return response
    refuseBatch(context.path.segments)
    return isDatabaseCreation(context) ? createDatabase(creation, context) : upstream.forward(context)
  }
  const fallback = createFallback(auth, forward)
  const dialect: Dialect = createMultiModelDialect({
    ...shared,
    name,
    authenticate: identify,
    routes,
    fallback,
    hasUpstream: upstream.isSet,
    reservedHeaders: [INTENT_HEADER, PAGE_TOKEN_HEADER],
    forwardPreflight: services.forwardPreflight,
  })
  return createDoor({
    dialect,
    mounts: createMounts(parts, identify, createRequireEntry({ ...shared, identify })),
    limits: deriveLive(config, toDoorLimits),
    trust: deriveLive(config, toTrustRules),
    log,
  })
}

/** What a database answers when it has created another one is a line. */
const MAX_CREATION_BYTES = 1_048_576

const describeOpenDoor = ({ server }: Config): readonly string[] =>
  server.authentication ? [] : ['the multi-model door is OPEN TO ANYONE: server.authentication is false']

/** OPTIONS is this door's own to answer, on the paths of other dialects too. */
function createMounts(parts: DoorParts, identify: Identify, requireEntry: RequireEntry) {
  const authenticate = async (context: RequestContext) => withoutPaths(await identify(context))
  const wayside = mountWayside({ key: parts.gateway.serviceKey, authenticate, requireEntry })
  const mounts = [mountControl(parts, authenticate, requireEntry), ...wayside]
  return mounts.map(
    ({ segment, dialect }): Mount => ({ segment, dialect: withDeclinedChallenges(dialect), leaves: 'OPTIONS' }),
  )
}

interface RequireEntryDeps {
  settings(): GateSettings
  readonly databases: Databases
  readonly identify: Identify
}

/** Paths of other dialects that are open by default need what every path needs while all of them are closed. */
function createRequireEntry({ settings, databases, identify }: RequireEntryDeps): RequireEntry {
  return async (context) => {
    if (!areAllPathsClosed(settings()) || isExempt(context, settings())) return undefined
    context.authenticated = await identify(context)
    await authorizeRequest(context, settings(), databases)
    return undefined
  }
}

const createSignIns = (parts: DoorParts, config: Live<Config>, settings: Live<MultiModelSettings>): MultiModelSignIns =>
  createMultiModelSignIns({
    ...parts,
    events: parts.liveConfig.events,
    ring: parts.tokenSecrets.ring.get,
    issuer: config.get()['multi-model'].name.toLowerCase(),
    settings: settings.get,
    basicAgeMs: () => toBasicAgeMs(config.get()),
    clock: SYSTEM_CLOCK,
  })

/** A token that is good for some paths is good for no other dialect's. */
const withoutPaths = (authenticated: Authenticated): Authenticated =>
  authenticated.bearer?.allowedPaths === undefined ? authenticated : ANONYMOUS

function createIdentify(parts: DoorParts, signIns: MultiModelSignIns, settings: () => MultiModelSettings) {
  const knowsUsers = () => settings().role === 'single'
  const bearer = createBearerHandler({
    directory: parts.directory,
    ring: parts.tokenSecrets.ring.get,
    cache: parts.tokenSecrets.cache,
    issuer: parts.liveConfig.get().settings.values['multi-model'].name.toLowerCase(),
    knowsUsers,
    clock: SYSTEM_CLOCK,
  })
  const basic = createBasicHandler(MULTI_MODEL_BASIC, signIns.check)
  const handlersOf = (context: RequestContext): readonly CredentialHandler[] => {
    const examined = examinedOn(context)
    if (examined === 'none') return []
    return examined === 'all' && knowsUsers() ? [bearer, basic] : [bearer]
  }
  const observer = createSignInObserver(parts.liveConfig.events)
  return {
    identify: (context: RequestContext) => authenticateOrNobody(context, handlersOf(context), observer),
    /** The same for a request that was let in before. Records no sign-in. */
    identifyAgain: (context: RequestContext) => authenticateOrNobody(context, handlersOf(context)),
  }
}

/** At this door a refused credential only leaves the caller unknown; what Cardea itself cannot do is still said. */
async function authenticateOrNobody(
  context: RequestContext,
  handlers: readonly CredentialHandler[],
  observer?: SignInObserver,
): Promise<Authenticated> {
  try {
    return await authenticate(context, handlers, observer)
  } catch (error) {
    if (isClientError(error)) return ANONYMOUS
    throw error
  }
}

const toSecrets = ({ ring }: TokenSecrets): Secrets => ({
  describe: () => describeRing(ring.get()),
  async reload() {
    const load = await ring.reload()
    if (load.kind === 'ring') return { kind: 'reloaded' }
    return { kind: 'kept', errorNum: load.errorNum, reason: load.message }
  },
})
