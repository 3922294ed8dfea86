// The document door, wired: its dialect, its own ordered credentials, and the live options it needs.
import { deriveLive } from '../base/live.ts'
import { PRODUCT } from '../base/product.ts'
import { listDigests } from '../config/codecs.ts'
import { authenticate } from '../credentials/authenticate.ts'
import { createBasicHandler } from '../credentials/basic.ts'
import type { CredentialHandler } from '../credentials/handler.ts'
import { DOCUMENT_BASIC } from '../dialects/document/basic.ts'
import { createDocumentDialect } from '../dialects/document/dialect.ts'
import { usersInfo } from '../dialects/document/users/database.ts'
import { createDoor, type Door } from '../door/door.ts'
import type { Exchange } from '../door/exchange.ts'
import { mountControl } from './control.ts'
import type { DoorParts } from './doors.ts'
import { toDocumentDoorLimits, toDocumentSettings, toTrustRules } from './options.ts'
import { createSettingsService } from './settings-service.ts'
import { createUsersNeeds } from './users-database.ts'

export function createDocumentDoor({ state, directory, check, control, log }: DoorParts): Door {
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
  const { document, node } = config.get()
  const users = createUsersNeeds(state, directory)
  const identify = (exchange: Exchange) => authenticate(exchange, handlers.get())
  const dialect = createDocumentDialect({
    name: document.name,
    version: document.version,
    product: PRODUCT,
    settings: settings.get,
    authenticate: identify,
    node: {
      nodeName: node.name,
      configuration: createSettingsService(state),
      administrators: directory,
      supportedHashes: listDigests,
    },
    server: {
      nodeName: node.name,
      usersDatabase: users.database,
      usersInfo: () => usersInfo(users),
    },
    users,
  })
  return createDoor({
    dialect,
    mounts: [mountControl(control, identify)],
    limits: deriveLive(config, toDocumentDoorLimits),
    trust: deriveLive(config, toTrustRules),
    log,
  })
}
