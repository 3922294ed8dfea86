// What stands beside both doors: the keys of services, and the question proxies ask.

import { SYSTEM_CLOCK } from '../base/clock.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import { GATE_AUDIENCE } from '../config/services.ts'
import { CONTROL_ERRORS } from '../dialects/admin-api/errors.ts'
import { createWaysideDialect, type FurtherHeaders } from '../dialects/forward-auth/dialect.ts'
import { GATE, gateRoute, KEYS, keysRoute, WELL_KNOWN } from '../dialects/forward-auth/routes.ts'
import type { Authenticated } from '../directory/identity.ts'
import { identityHeadersForService } from '../gateway/identity-headers.ts'
import type { Mount } from '../http/dispatch.ts'
import type { HeaderPair, RequestContext, Step } from '../http/request-context.ts'
import type { ServiceKey } from '../live-config/service-key.ts'

const statusOf = (code: keyof typeof CONTROL_ERRORS): number => CONTROL_ERRORS[code].status

/** Throws where the rules of a door close a path that other doors, or other rules of this one, serve to everyone. */
export type RequireEntry = Step['run']

export interface WaysideDeps {
  readonly key: ServiceKey
  authenticate(context: RequestContext): MaybePromise<Authenticated>
  readonly requireEntry: RequireEntry
  readonly furtherHeaders?: FurtherHeaders
}

export function mountWayside({ key, authenticate, requireEntry, furtherHeaders }: WaysideDeps): readonly Mount[] {
  const tell = identityHeadersForService({ signer: () => key.signer, service: GATE_AUDIENCE, clock: SYSTEM_CLOCK })
  const introduce = (who: Authenticated) => toPairs(tell(who).headers)
  const routes = [gateRoute({ authenticate, introduce })]
  return [
    mountKeys(key, [{ name: 'entry', run: requireEntry }]),
    {
      segment: GATE,
      dialect: createWaysideDialect({
        name: 'gate',
        routes,
        statusOf,
        furtherHeaders,
        // a proxy asks with the headers of its client, and this one is meant for the application behind the proxy
        ignoresMethodOverride: true,
      }),
    },
  ]
}

export const mountKeys = (key: ServiceKey, steps: readonly Step[] = []): Mount => ({
  // the rest of that place is for whoever stands behind the door
  segment: `${WELL_KNOWN}/${KEYS}`,
  dialect: createWaysideDialect({ name: 'keys', steps, routes: [keysRoute(() => [key.jwk])], statusOf }),
})

const toPairs = (flat: readonly string[]): readonly HeaderPair[] =>
  flat.flatMap((name, at) => (at % 2 === 0 ? [[name, flat[at + 1] ?? ''] as const] : []))
