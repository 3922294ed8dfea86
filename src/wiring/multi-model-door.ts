// The multi-model door, wired: its dialect, its own ordered credentials, and the live options it needs.

import { authenticate } from '../auth/authenticate.ts'
import { createBasicHandler } from '../auth/basic.ts'
import { createBearerHandler } from '../auth/bearer.ts'
import type { CredentialHandler } from '../auth/handler.ts'
import { createSignInObserver, type SignInObserver } from '../auth/sign-in-observer.ts'
import { nowSeconds, SYSTEM_CLOCK } from '../base/clock.ts'
import { isOfCaller, Refusal } from '../base/errors.ts'
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
  type Databases,
  examinedOn,
  type GateSettings,
  isExempt,
  passGate,
} from '../dialects/multi-model/gate.ts'
import { createGrantedDatabases } from '../dialects/multi-model/granted-databases.ts'
import { createServerMode } from '../dialects/multi-model/mode.ts'
import { namesDatabase } from '../dialects/multi-model/path.ts'
import { createOtherwise, ownRoutes, refuseBatch, standInRoutes } from '../dialects/multi-model/routes.ts'
import type { Secrets } from '../dialects/multi-model/secrets.ts'
import { createMultiModelSignIns, type MultiModelSignIns } from '../dialects/multi-model/sign-ins.ts'
import { ANONYMOUS, type Authenticated } from '../directory/identity.ts'
import type { Mount } from '../http/dispatch.ts'
import { createDoor, type Door } from '../http/door.ts'
import type { Dialect, Exchange } from '../http/request-context.ts'
import { describeRing } from '../keys/ring.ts'
import type { TokenSecrets } from '../live-config/token-secrets.ts'
import { mountControl } from './control.ts'
import type { DoorParts } from './doors.ts'
import type { Identify } from './gateway.ts'
import { isMounted } from './mounted.ts'
import { toBasicAgeMs, toDoorLimits, toMultiModelSettings, toTrustRules } from './options.ts'
import { createRequirePassword } from './require-password.ts'
import type { Judgement } from './revalidate.ts'
import { createServices } from './services.ts'
import { createMultiModelUpstream } from './upstream.ts'
import { warnOfOpenings } from './warn-open-access.ts'
import { mountWayside, type RequireEntry } from './wayside.ts'

export function createMultiModelDoor(parts: DoorParts): Door {
  const { state, directory, log } = parts
  const config = deriveLive(state, ({ settings }) => settings.values)
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
    requirePassword: createRequirePassword(parts),
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
  const forwardWith = (exchange: Exchange, body: Buffer) => upstream.forwardWhole(exchange, MAX_CREATION_BYTES, body)
  const creation = { ...shared, forwardWith }
  const forward = (exchange: Exchange) => {
    // Cardea's own paths have no API version: nothing with such a name is forwarded
    if (isMounted(exchange.path.segments) && !namesDatabase(exchange.path)) throw new Refusal('invalid_target')
    const response = services.forward(exchange)
    if (response !== undefined || !upstream.isSet()) return response
    refuseBatch(exchange.path.segments)
    return isDatabaseCreation(exchange) ? createDatabase(creation, exchange) : upstream.forward(exchange)
  }
  const otherwise = createOtherwise(auth, forward)
  const dialect: Dialect = createMultiModelDialect({
    ...shared,
    name,
    authenticate: identify,
    routes,
    otherwise,
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
  const authenticate = async (exchange: Exchange) => withoutPaths(await identify(exchange))
  const wayside = mountWayside({ key: parts.gateway.serviceKey, authenticate, requireEntry })
  const mounts = [mountControl(parts, authenticate, requireEntry), ...wayside]
  return mounts.map(
    ({ segment, dialect }): Mount => ({ segment, dialect: withDeclinedChallenges(dialect), leaves: 'OPTIONS' }),
  )
}

interface RequireEntryNeeds {
  settings(): GateSettings
  readonly databases: Databases
  readonly identify: Identify
}

/** Paths of other dialects that are open by default need what every path needs while all of them are closed. */
function createRequireEntry({ settings, databases, identify }: RequireEntryNeeds): RequireEntry {
  return async (exchange) => {
    if (!areAllPathsClosed(settings()) || isExempt(exchange, settings())) return undefined
    exchange.authenticated = await identify(exchange)
    await passGate(exchange, settings(), databases)
    return undefined
  }
}

const createSignIns = (parts: DoorParts, config: Live<Config>, settings: Live<MultiModelSettings>): MultiModelSignIns =>
  createMultiModelSignIns({
    ...parts,
    events: parts.state.events,
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
    issuer: parts.state.get().settings.values['multi-model'].name.toLowerCase(),
    knowsUsers,
    clock: SYSTEM_CLOCK,
  })
  const basic = createBasicHandler(MULTI_MODEL_BASIC, signIns.check)
  const handlersOf = (exchange: Exchange): readonly CredentialHandler[] => {
    const examined = examinedOn(exchange)
    if (examined === 'none') return []
    return examined === 'all' && knowsUsers() ? [bearer, basic] : [bearer]
  }
  const observer = createSignInObserver(parts.state.events)
  return {
    identify: (exchange: Exchange) => authenticateOrNobody(exchange, handlersOf(exchange), observer),
    /** The same for a request that was let in before. Records no sign-in. */
    identifyAgain: (exchange: Exchange) => authenticateOrNobody(exchange, handlersOf(exchange)),
  }
}

/** At this door a refused credential only leaves the caller unknown; what Cardea itself cannot do is still said. */
async function authenticateOrNobody(
  exchange: Exchange,
  handlers: readonly CredentialHandler[],
  observer?: SignInObserver,
): Promise<Authenticated> {
  try {
    return await authenticate(exchange, handlers, observer)
  } catch (error) {
    if (isOfCaller(error)) return ANONYMOUS
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
