// The multi-model door, wired: its dialect, its own ordered credentials, and the live options it needs.
import { Refusal } from '../base/errors.ts'
import { deriveLive } from '../base/live.ts'
import { PRODUCT } from '../base/product.ts'
import { authenticate } from '../credentials/authenticate.ts'
import { createBasicHandler } from '../credentials/basic.ts'
import type { CredentialHandler } from '../credentials/handler.ts'
import { MULTI_MODEL_BASIC } from '../dialects/multi-model/basic.ts'
import { createMultiModelDialect } from '../dialects/multi-model/dialect.ts'
import { createDoor, type Door } from '../door/door.ts'
import type { Exchange } from '../door/exchange.ts'
import { ANONYMOUS, type Authenticated } from '../identity/identity.ts'
import { mountControl } from './control.ts'
import type { DoorParts } from './doors.ts'
import { toDoorLimits, toMultiModelSettings, toTrustRules } from './options.ts'

export function createMultiModelDoor({ state, check, control, log }: DoorParts): Door {
  const config = deriveLive(state, ({ settings }) => settings.values)
  const settings = deriveLive(config, toMultiModelSettings)
  const handlers = [createBasicHandler(MULTI_MODEL_BASIC, check)]
  const { 'multi-model': names } = config.get()
  const identify = (exchange: Exchange) => authenticateOrNobody(exchange, handlers)
  const dialect = createMultiModelDialect({
    name: names.name,
    version: names.version,
    product: PRODUCT,
    settings: settings.get,
    authenticate: identify,
  })
  return createDoor({
    dialect,
    mounts: [mountControl(control, identify)],
    limits: deriveLive(config, toDoorLimits),
    trust: deriveLive(config, toTrustRules),
    log,
  })
}

/** At this door a refused credential only leaves the caller unknown; what Cardea itself cannot do is still said. */
async function authenticateOrNobody(
  exchange: Exchange,
  handlers: readonly CredentialHandler[],
): Promise<Authenticated> {
  try {
    return await authenticate(exchange, handlers)
  } catch (error) {
    if (error instanceof Refusal && !CANNOT_NOW.has(error.code)) return ANONYMOUS
    throw error
  }
}

const CANNOT_NOW: ReadonlySet<string> = new Set(['overloaded', 'store_unavailable', 'internal'])
