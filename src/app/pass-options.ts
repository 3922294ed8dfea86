// OPTIONS at the multi-model door, where what other origins may do is for the servers behind it to say.
import { Refusal } from '../base/errors.ts'
import { isPreflight } from '../dialects/multi-model/cors.ts'
import { passGate } from '../dialects/multi-model/gate.ts'
import { checkPath, type StepsNeeds } from '../dialects/multi-model/steps.ts'
import type { Exchange, Reply, Route } from '../door/exchange.ts'
import { createRouter } from '../door/router.ts'
import { HELD_BACK } from '../identity/identity.ts'
import type { Upstream } from '../upstream/forward.ts'
import { isMounted } from './mounted.ts'
import type { ForwardToService } from './services.ts'

export interface PassOptionsNeeds extends Pick<StepsNeeds, 'settings' | 'databases' | 'authenticate'> {
  /** Whether it is Cardea's to say. */
  ownsCors(): boolean
  readonly routes: readonly Route[]
  readonly toService: ForwardToService
  readonly upstream: Upstream
}

type PassOptions = NonNullable<StepsNeeds['passOptions']>

/**
 * A preflight goes behind the door, whoever sends it, and with nobody's credentials: it never brings any. What else asks an
 * application for its OPTIONS is let in like any request. The rest, and whoever is not let in, is answered here.
 */
export function createPassOptions(needs: PassOptionsNeeds): PassOptions {
  const isOwnPath = createIsOwnPath(needs.routes)
  const { toService, upstream, ownsCors } = needs
  return async (exchange) => {
    if (ownsCors() || !isSound(exchange) || isOwnPath(exchange)) return undefined
    if (!isPreflight(exchange)) return askService(exchange, needs)
    exchange.authenticated = HELD_BACK
    return toService(exchange) ?? (upstream.isSet() ? upstream.forward(exchange) : undefined)
  }
}

function isSound(exchange: Exchange): boolean {
  try {
    checkPath(exchange)
    return true
  } catch (error) {
    if (error instanceof Refusal) return false
    throw error
  }
}

async function askService(exchange: Exchange, needs: PassOptionsNeeds): Promise<Reply | undefined> {
  try {
    exchange.authenticated = await needs.authenticate(exchange)
    await passGate(exchange, needs.settings(), needs.databases)
    return await needs.toService(exchange)
  } catch (error) {
    if (error instanceof Refusal && NOT_LET_IN.has(error.code)) return undefined
    throw error
  }
}

const NOT_LET_IN: ReadonlySet<string> = new Set(['authentication_required', 'database_not_found', 'forbidden'])

const OWN = /^_(?:open|api\/user|api\/token)(?:\/|$)/

function createIsOwnPath(routes: readonly Route[]): (exchange: Exchange) => boolean {
  const find = createRouter(routes)
  return ({ path: { segments } }) => {
    const route = find(segments)?.route
    return (route !== undefined && !route.isStandIn) || isMounted(segments) || OWN.test(segments.join('/'))
  }
}
