// Mounts the key set and the forward-auth endpoint beside a door's own paths.
import type { ErrorCode } from '../../base/errors.ts'
import type { Authenticated } from '../../directory/identity.ts'
import type { Mount } from '../../http/dispatch.ts'
import type { HeaderPair, RequestContext, Step } from '../../http/request-context.ts'
import { createForwardAuthDialect, type FurtherHeaders } from './dialect.ts'
import { GATE, gateRoute, KEYS, keysRoute, WELL_KNOWN } from './routes.ts'

export interface KeySetDeps {
  /** The public keys that verify what Cardea signs for services. */
  keys(): readonly object[]
  statusOf(code: ErrorCode): number
}

export interface ForwardAuthDeps extends KeySetDeps {
  authenticate(context: RequestContext): Authenticated | Promise<Authenticated>
  /** The headers that name the user to an application. */
  toIdentityHeaders(authenticated: Authenticated): readonly HeaderPair[]
  /** Throws where the rules of the door require a credential on every path. */
  readonly requireEntry: Step['run']
  readonly furtherHeaders?: FurtherHeaders
}

export function mountForwardAuth(deps: ForwardAuthDeps): readonly Mount[] {
  const { authenticate, toIdentityHeaders, requireEntry, statusOf, furtherHeaders } = deps
  return [
    mountKeySet(deps, [{ name: 'entry', run: requireEntry }]),
    {
      segment: GATE,
      dialect: createForwardAuthDialect({
        name: 'gate',
        routes: [gateRoute({ authenticate, toIdentityHeaders })],
        statusOf,
        furtherHeaders,
        // the proxy copies its client's headers; an override among them is meant for the application
        ignoresMethodOverride: true,
      }),
    },
  ]
}

/** Mounts only `jwks.json`: other paths under `.well-known` belong to the upstream. */
export const mountKeySet = ({ keys, statusOf }: KeySetDeps, steps: readonly Step[] = []): Mount => ({
  segment: `${WELL_KNOWN}/${KEYS}`,
  dialect: createForwardAuthDialect({ name: 'keys', steps, routes: [keysRoute(keys)], statusOf }),
})
