// The document door, wired: its dialect, its own ordered credentials, and the live options it needs.

import { createRequirePassword } from '../auth/require-password.ts'
import { SYSTEM_CLOCK } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import { deriveLive } from '../base/live.ts'
import { PRODUCT } from '../base/product.ts'
import { listDigests } from '../config/codecs.ts'
import { isOwnSetting } from '../config/compatibility.ts'
import { findNearestSection } from '../config/problems.ts'
import { DOCUMENT_BASIC } from '../dialects/document/basic.ts'
import { createDocumentDialect, type DocumentSettings } from '../dialects/document/dialect.ts'
import { renewingHeaders } from '../dialects/document/session.ts'
import { isValidUserRequired } from '../dialects/document/steps.ts'
import { usersInfo } from '../dialects/document/users/database.ts'
import type { FurtherHeaders } from '../dialects/forward-auth/dialect.ts'
import { isAnonymous } from '../directory/identity.ts'
import { createDoor, type Door } from '../http/door.ts'
import type { Dialect } from '../http/request-context.ts'
import { createSettingsService } from '../live-config/settings-service.ts'
import { mountControl } from './control.ts'
import { createDocumentCredentials } from './document-credentials.ts'
import type { DoorParts } from './doors.ts'
import type { Identify } from './gateway.ts'
import { isMounted } from './mounted.ts'
import { toDocumentDoorLimits, toDocumentSettings, toTrustRules } from './options.ts'
import { createDocumentUpstream } from './upstream.ts'
import { createUsersDeps } from './users-database.ts'
import { mountWayside, type RequireEntry } from './wayside.ts'

export function createDocumentDoor(parts: DoorParts): Door {
  const { liveConfig, directory, log } = parts
  const config = deriveLive(liveConfig, ({ settings }) => settings.values)
  const settings = deriveLive(liveConfig, (snapshot) => toDocumentSettings(snapshot.settings))
  const { document, node } = config.get()
  const requirePassword = createRequirePassword(parts.passwordProof, DOCUMENT_BASIC)
  const users = createUsersDeps(liveConfig, directory, requirePassword)
  const credentials = createDocumentCredentials(parts)
  const { isAsked, sessions } = credentials
  const identify = parts.gateway.note(credentials.identify)
  const judgement = { identify: credentials.identifyAgain, isAsked, dialect: () => dialect }
  const upstream = createDocumentUpstream(parts, config, judgement)
  const dialect: Dialect = createDocumentDialect({
    name: document.name,
    version: document.version,
    product: PRODUCT,
    settings: settings.get,
    isServing: directory.isFresh,
    authenticate: identify,
    sessions,
    clock: SYSTEM_CLOCK,
    node: {
      nodeName: node.name,
      configuration: createSettingsService(liveConfig),
      administrators: directory,
      isOwnSetting,
      isMisspelt: (section) => findNearestSection(section) !== undefined,
      requirePassword,
      supportedHashes: listDigests,
    },
    server: {
      nodeName: node.name,
      usersDatabase: users.database,
      usersInfo: () => usersInfo(users),
    },
    users,
    upstream,
    isElsewhere: isMounted,
  })
  // a session that is only ever asked about at the gate is used all the same
  const renew: FurtherHeaders = (context, reply) =>
    renewingHeaders(context, reply, { settings: settings.get, clock: SYSTEM_CLOCK })
  const requireEntry = createRequireEntry(settings.get, identify)
  return createDoor({
    dialect,
    mounts: [
      mountControl(parts, credentials.identifyWithoutCookie, requireEntry),
      ...mountWayside({
        key: parts.gateway.serviceKey,
        authenticate: identify,
        requireEntry,
        furtherHeaders: renew,
      }),
    ],
    limits: deriveLive(liveConfig, (snapshot) => toDocumentDoorLimits(snapshot.settings)),
    trust: deriveLive(config, toTrustRules),
    log,
  })
}

/** Where anonymous requests are not allowed, the paths of other dialects need a valid user too. */
const createRequireEntry =
  (settings: () => DocumentSettings, identify: Identify): RequireEntry =>
  async (context) => {
    if (!isValidUserRequired(settings())) return undefined
    context.authenticated = await identify(context)
    if (isAnonymous(context.authenticated)) throw new Refusal('authentication_required')
    return undefined
  }
