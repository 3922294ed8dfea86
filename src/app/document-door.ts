// The document door, wired: its dialect, its own ordered credentials, and the live options it needs.
import { deriveLive } from '../base/live.ts'
import type { Log } from '../base/log.ts'
import { PRODUCT } from '../base/product.ts'
import { authenticate } from '../credentials/authenticate.ts'
import { createBasicHandler, type PasswordCheck } from '../credentials/basic.ts'
import type { CredentialHandler } from '../credentials/handler.ts'
import { DOCUMENT_BASIC } from '../dialects/document/basic.ts'
import { createDocumentDialect } from '../dialects/document/dialect.ts'
import { createDoor, type Door } from '../door/door.ts'
import { toDocumentDoorLimits, toDocumentSettings, toTrustRules } from './options.ts'
import type { State } from './state.ts'

export function createDocumentDoor(state: State, check: PasswordCheck, log: Log): Door {
  const config = deriveLive(state, ({ settings }) => settings.values)
  const catalogue = new Map<string, CredentialHandler>([['default', createBasicHandler(DOCUMENT_BASIC, check)]])
  const handlers = deriveLive(config, ({ chttpd }) =>
    chttpd.authentication_handlers.flatMap((name) => catalogue.get(name) ?? []),
  )
  const settings = deriveLive(config, (values) =>
    toDocumentSettings(
      values,
      handlers.get().map(({ name }) => name),
    ),
  )
  const { document } = config.get()
  const dialect = createDocumentDialect({
    name: document.name,
    version: document.version,
    product: PRODUCT,
    settings: settings.get,
    authenticate: (exchange) => authenticate(exchange, handlers.get()),
  })
  return createDoor({
    dialect,
    limits: deriveLive(config, toDocumentDoorLimits),
    trust: deriveLive(config, toTrustRules),
    log,
  })
}
