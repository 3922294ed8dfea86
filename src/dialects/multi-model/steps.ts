import type { Exchange, Step } from '../../door/exchange.ts'
import type { Authenticated } from '../../identity/identity.ts'
import { answerOptions } from './cors.ts'
import { type GateSettings, passGate } from './gate.ts'

export interface StepsNeeds {
  settings(): GateSettings
  /** A wrong credential leaves the request anonymous: the gate answers for it, open paths stay open. */
  authenticate(exchange: Exchange): Promise<Authenticated>
}

/** The ordered checks of a request. OPTIONS comes first: it is answered whatever else is wrong. */
export const multiModelSteps = ({ settings, authenticate }: StepsNeeds): readonly Step[] => [
  { name: 'options', run: answerOptions },
  { name: 'path', run: (exchange) => void exchange.path },
  {
    name: 'authenticate',
    run: async (exchange) => {
      exchange.authenticated = await authenticate(exchange)
      return undefined
    },
  },
  { name: 'gate', run: (exchange) => void passGate(exchange, settings()) },
]
