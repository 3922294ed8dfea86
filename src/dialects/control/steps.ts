import { Refusal } from '../../base/errors.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import type { Exchange, Step } from '../../door/exchange.ts'
import { ANONYMOUS, type Authenticated } from '../../identity/identity.ts'

/** A page of another origin cannot set it without asking first, and is told no. */
export const INTENT_HEADER = 'x-cardea-control'

/** The ordered checks of a request. What a browser may send unasked is refused before anybody's password is tried. */
export const controlSteps = (authenticate: (exchange: Exchange) => MaybePromise<Authenticated>): readonly Step[] => [
  { name: 'path', run: (exchange) => void exchange.path },
  { name: 'intent', run: requireIntent },
  {
    name: 'authenticate',
    run: async (exchange) => {
      exchange.authenticated = await authenticate(exchange)
      return undefined
    },
  },
  { name: 'administrators only', run: requireAdministrator },
]

function requireIntent(exchange: Exchange): undefined {
  const mayBeUnasked = exchange.header('origin') !== undefined || exchange.header('cookie') !== undefined
  if (!mayBeUnasked || exchange.header(INTENT_HEADER) !== undefined) return
  throw new Refusal('forbidden', { about: 'A request of a browser needs the header X-Cardea-Control.' })
}

function requireAdministrator(exchange: Exchange): undefined {
  const { identity, by } = exchange.authenticated ?? ANONYMOUS
  if (by === null) throw new Refusal('authentication_required')
  if (!identity.isAdmin) throw new Refusal('admin_required')
}
