/**
 * The control API: what a command line or console asks of a running Cardea. What enters: JSON requests of
 * administrators. What leaves: JSON. Nobody else gets past its steps, and no answer holds a password; its hash is in none
 * but those of `exchange`.
 */

import { Refusal } from '../../base/errors.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import type { Dialect, Exchange, HeaderPair } from '../../door/exchange.ts'
import type { Authenticated } from '../../identity/identity.ts'
import { CONTROL_ERRORS, toControlWords } from './errors.ts'
import type { ControlNeeds } from './operation.ts'
import { readControlPath } from './path.ts'
import { controlRoutes } from './routes.ts'
import { controlSteps, INTENT_HEADER } from './steps.ts'
import { toJsonReply } from './wire.ts'

export interface ControlDialectOptions extends ControlNeeds {
  /** As the door this is mounted at knows its callers. */
  authenticate(exchange: Exchange): MaybePromise<Authenticated>
}

export function createControlDialect(options: ControlDialectOptions): Dialect {
  return {
    name: 'control',
    requestIdHeader: REQUEST_ID,
    readPath: readControlPath,
    steps: controlSteps(options.authenticate),
    routes: controlRoutes(options),
    otherwise: () => {
      throw new Refusal('not_found')
    },
    spell: (refusal, exchange) => {
      const { status } = CONTROL_ERRORS[refusal.code]
      return toJsonReply(status, toControlWords(refusal), [
        ...(status === 401 && exchange?.header(INTENT_HEADER) === undefined ? [CHALLENGE] : []),
        ...(refusal.code === 'method_not_allowed' ? [['Allow', refusal.about ?? ''] as const] : []),
      ])
    },
    standingHeaders: (exchange) => [...STANDING, ...(exchange ? [[REQUEST_ID, exchange.id] as const] : [])],
  }
}

const REQUEST_ID = 'X-Request-Id'

const CHALLENGE: HeaderPair = ['WWW-Authenticate', 'Basic realm="Cardea", charset="UTF-8"']

const STANDING: readonly HeaderPair[] = [
  ['Cache-Control', 'no-store'],
  ['X-Content-Type-Options', 'nosniff'],
]
