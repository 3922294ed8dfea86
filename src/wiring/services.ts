// Applications behind the multi-model door: where they are mounted, and whether anybody may ask them.

import { createIsOwnCredential } from '../auth/own-credentials.ts'
import { SYSTEM_CLOCK } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import { deriveLive, type Live } from '../base/live.ts'
import type { Config } from '../config/options.ts'
import { readServices, type Service } from '../config/services.ts'
import type { Settings } from '../config/settings.ts'
import { isPreflight } from '../dialects/multi-model/cors.ts'
import { levelOn } from '../dialects/multi-model/gate.ts'
import { hasPrefix, SYSTEM_DATABASE } from '../dialects/multi-model/path.ts'
import { checkPath } from '../dialects/multi-model/steps.ts'
import { HELD_BACK, isAnonymous } from '../directory/identity.ts'
import { createUpstreamWatch } from '../gateway/health.ts'
import { identityHeadersForService } from '../gateway/identity-headers.ts'
import { createUpstream, type Upstream, type UpstreamSettings } from '../gateway/upstream.ts'
import type { Path, Reply, RequestContext } from '../http/request-context.ts'
import type { DoorParts } from './doors.ts'
import { type Judgement, toCommonDeps, toUpstreamSettings } from './upstream.ts'
import { toServiceHints } from './upstream-hints.ts'
import { warnOfOpenings } from './warn-open-access.ts'

const isOpen = ({ isRequired }: Service, { server }: Config): boolean =>
  !isRequired && (!server.authentication || server['authentication-system-only'])

/** What whoever starts Cardea should know of each that asks for no credential. */
export const describeOpenServices = ({ values, open }: Settings): readonly string[] =>
  describeOpen(readServices(open.services), values)

const describeOpen = (services: readonly Service[], config: Config): readonly string[] =>
  services
    .filter((service) => isOpen(service, config))
    .map(({ name, mount }) => `service ${name} at /${mount.join('/')} is OPEN TO ANYONE`)

export interface Services {
  /** The response of the service a path belongs to; `undefined`: it belongs to none. */
  forward(context: RequestContext): Promise<Reply> | undefined
  /** The same for OPTIONS: only a CORS preflight, and only to a service that answers those itself. */
  forwardPreflight(context: RequestContext): Promise<Reply> | undefined
}

export function createServices(parts: DoorParts, config: Live<Config>, judgement: Judgement): Services {
  const mounted = readServices(parts.liveConfig.get().settings.open.services)
  warnOfOpenings(parts, (values) => describeOpen(mounted, values))
  const services = mounted.map((service) => ({
    service,
    upstream: parts.gateway.adopt(openService(service, parts, config, judgement)),
  }))
  const isOwn = createIsOwnCredential({
    ring: parts.tokenSecrets.ring.get,
    jwtKeys: parts.jwtKeys.get,
    clock: SYSTEM_CLOCK,
  })
  const find = (path: Path) =>
    // a path with an API version or a database is the database's
    hasPrefix(path)
      ? undefined
      : services.find(({ service }) => service.mount.every((part, at) => part === path.segments[at]))
  return {
    forward(context) {
      const found = find(context.path)
      if (found === undefined) return undefined
      if (found.service.isRequired) requireEntry(context)
      const authorization = context.header('authorization')
      const isStranger = authorization !== undefined && isAnonymous(context.authenticated)
      if (isStranger && isOwn(authorization)) context.authenticated = HELD_BACK
      return found.upstream.forward(context)
    },
    forwardPreflight(context) {
      if (ownsCors(config.get()) || !isPreflight(context) || !isSound(context)) return undefined
      const found = find(context.path)
      if (!found?.service.ownsPreflights) return undefined
      // browsers send no credentials with a preflight, and none is passed on
      context.authenticated = HELD_BACK
      return found.upstream.forward(context)
    },
  }
}

/** With trusted origins, what other origins may do is Cardea's to say. */
const ownsCors = ({ http }: Config): boolean => http['trusted-origin'].length > 0

/** OPTIONS is answered whatever the path: one that would be refused is not forwarded either. */
function isSound(context: RequestContext): boolean {
  try {
    checkPath(context)
    return true
  } catch (error) {
    if (error instanceof Refusal) return false
    throw error
  }
}

/** Closed in the one way this door knows: to whoever may not enter the database a path without one is about. */
function requireEntry({ authenticated }: RequestContext): void {
  const hasAccess = !isAnonymous(authenticated) && levelOn(authenticated.identity, SYSTEM_DATABASE) !== 'none'
  if (!hasAccess) throw new Refusal('authentication_required')
}

function openService({ name, url }: Service, parts: DoorParts, config: Live<Config>, judgement: Judgement): Upstream {
  const settings = deriveLive(
    config,
    (values): UpstreamSettings => ({
      ...toUpstreamSettings(values, parts.log),
      urls: [url],
      spool: undefined,
      ownsCors: ownsCors(values),
    }),
  )
  return createUpstream({
    ...toCommonDeps(parts, config, judgement),
    settings: settings.get,
    // an application was put at this origin on purpose, and its pages run script
    isolates: () => false,
    toIdentityHeaders: identityHeadersForService({
      signer: () => parts.gateway.serviceKey.signer,
      service: name,
      clock: SYSTEM_CLOCK,
    }),
    watch: createUpstreamWatch(parts.liveConfig.events, () => toServiceHints(name), SYSTEM_CLOCK),
    requestIdHeader: 'X-Request-Id',
  })
}
