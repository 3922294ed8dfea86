// The listener of admin.endpoint: Cardea's own paths, on an origin that no page of a database shares.

import { authenticate } from '../auth/authenticate.ts'
import { createBasicHandler } from '../auth/basic.ts'
import { createSignInObserver } from '../auth/record-sign-ins.ts'
import { deriveLive } from '../base/live.ts'
import { DOCUMENT_BASIC } from '../dialects/document/basic.ts'
import { createDoor, type Door } from '../http/door.ts'
import type { Route } from '../http/request-context.ts'
import { createOwnDialect } from './control.ts'
import type { DoorParts } from './doors.ts'
import { toDoorLimits, toTrustRules } from './options.ts'
import { mountKeys } from './wayside.ts'

/** Programs sign in with Basic, browsers with a session. */
export function createAdminDoor(parts: DoorParts): Door {
  const config = deriveLive(parts.liveConfig, ({ settings }) => settings.values)
  const handlers = [createBasicHandler(DOCUMENT_BASIC, parts.check)]
  const observer = createSignInObserver(parts.liveConfig.events)
  const dialect = createOwnDialect(parts, {
    authenticate: (context) => authenticate(context, handlers, observer),
    isOwnOrigin: true,
  })
  return createDoor({
    dialect: { ...dialect, name: 'admin', routes: [...dialect.routes, TO_CONSOLE] },
    mounts: [mountKeys(parts.gateway.serviceKey)],
    limits: deriveLive(config, toDoorLimits),
    trust: deriveLive(config, toTrustRules),
    log: parts.log,
  })
}

const TO_CONSOLE: Route = {
  path: '/',
  allow: ['GET', 'HEAD'],
  methods: { GET: () => ({ status: 303, headers: [['Location', '/_cardea/']] }) },
}
