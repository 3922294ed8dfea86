// Builds the multi-model door: its dialect, its credential handlers, its upstream and the services behind it.

import { createRevalidation } from '../auth/authenticate.ts'
import { BEARER_HANDLER } from '../auth/bearer.ts'
import { ACCEPTED, type AcceptedCredentials, createMultiModelHandlers } from '../auth/credential.ts'
import { createSignInObserver } from '../auth/record-sign-ins.ts'
import { createRequirePassword } from '../auth/require-password.ts'
import { nowSeconds } from '../base/clock.ts'
import { deriveLive, type Live } from '../base/live.ts'
import { toWireNames } from '../config/options.ts'
import { mountRelayedPaths } from '../dialects/admin-api/account-api.ts'
import { PAGE_TOKEN_HEADER } from '../dialects/admin-api/browser.ts'
import { INTENT_HEADER } from '../dialects/admin-api/steps.ts'
import { mountForwardAuth } from '../dialects/forward-auth/routes.ts'
import {
  type AuthenticateDeps,
  createDoorAuthenticator,
  createRequireEntry,
} from '../dialects/multi-model/authenticate.ts'
import { createDoorCors } from '../dialects/multi-model/cors.ts'
import { createMultiModelDialect, withDeclinedChallenges } from '../dialects/multi-model/dialect.ts'
import { createGrantedDatabases } from '../dialects/multi-model/granted-databases.ts'
import { createServerMode } from '../dialects/multi-model/mode.ts'
import { selectCredentials } from '../dialects/multi-model/rights.ts'
import { createRoutes } from '../dialects/multi-model/routes.ts'
import type { Databases, MultiModelSettings } from '../dialects/multi-model/settings.ts'
import { createSignInService } from '../dialects/multi-model/sign-in.ts'
import type { Mount } from '../http/dispatch.ts'
import { createDoor, type Door } from '../http/door.ts'
import { warnOpenAccess } from '../live-config/open-access.ts'
import { mountAccount, mountAdminApi, mountSignIn } from './admin-door.ts'
import { createMultiModelUpstream } from './gateway.ts'
import { type DoorParts, toDoorOptions } from './parts.ts'
import { createServices } from './services.ts'
import { toBasicAgeMs, toMultiModelSettings } from './settings.ts'
import { createRecorder } from './sign-in.ts'

export function createMultiModelDoor(parts: DoorParts): Door {
  const { liveConfig, config, directory, tokenSecrets, gateway } = parts
  const settings = deriveLive(config, toMultiModelSettings)
  warnOpenAccess(liveConfig)
  const databases = createGrantedDatabases(directory, () => config.get().upstream['multi-model'].length > 0)
  const doorSignIns = createSignIns(parts, settings)
  const { signIns, credentials } = doorSignIns
  const own = createDoorAuthenticator(credentials, ACCEPTED.multiModel, selectCredentials)
  const { confirmCredential, revalidate } = createRevalidation([own], parts)
  const { name, version } = config.get()['multi-model']
  const deps = {
    name,
    version,
    mode: createServerMode(),
    settings: settings.get,
    directory,
    databases,
    ring: tokenSecrets.ring,
    checkHealth: parts.checkHealth,
    streams: gateway.streams,
    signIns,
    authenticate: own.authenticate,
    confirmCredential,
    requirePassword: createRequirePassword(parts.passwordProof),
    reservedHeaders: [INTENT_HEADER, PAGE_TOKEN_HEADER],
    nowSeconds: () => nowSeconds(parts.clock),
    upstream: createMultiModelUpstream(parts, revalidate),
    services: createServices(parts, 'multi-model', revalidate),
  }
  return createDoor({
    ...toDoorOptions(parts, 'multi-model'),
    dialect: createMultiModelDialect({ ...deps, ...createRoutes(deps) }),
    mounts: createMounts(parts, doorSignIns, settings, databases),
    tracing: parts.tracing,
  })
}

const createDoorRecorder = (parts: DoorParts, settings: Live<MultiModelSettings>) =>
  createRecorder(parts, 'multi-model', () => settings.get().sessionTimeoutSeconds)

/** Issues tokens for passwords, and reads the credentials of this door. */
function createSignIns(parts: DoorParts, settings: Live<MultiModelSettings>) {
  const { config, directory, events, tokenSecrets } = parts
  const recorder = createDoorRecorder(parts, settings)
  const signIns = createSignInService({
    ...parts,
    recorder,
    ring: tokenSecrets.ring.get,
    issuer: toWireNames(config.get()).issuer,
    settings: settings.get,
    basicAgeMs: deriveLive(config, toBasicAgeMs).get,
  })
  const credentials: AuthenticateDeps = {
    handlers: createMultiModelHandlers({
      bearer: { ...parts.bearer, findProviderToken: parts.findProviderToken(BEARER_HANDLER) },
      check: signIns.check,
      directory,
      clock: parts.clock,
    }),
    knowsUsers: parts.bearer.knowsUsers,
    observer: createSignInObserver(events, recorder),
  }
  return { signIns, credentials }
}

/** This door answers OPTIONS on the paths of other dialects too. */
function createMounts(
  parts: DoorParts,
  { signIns, credentials }: ReturnType<typeof createSignIns>,
  settings: Live<MultiModelSettings>,
  databases: Databases,
): readonly Mount[] {
  const accept = (accepted: AcceptedCredentials) => createDoorAuthenticator(credentials, accepted)
  const requireEntry = createRequireEntry(settings.get, databases, accept(ACCEPTED.multiModelEntry))
  const { authenticate } = accept(ACCEPTED.multiModelForwardAuth)
  const forwardAuth = mountForwardAuth({ ...parts.forwardAuth, authenticate, requireEntry })
  const cors = createDoorCors(settings.get)
  if (parts.relayOf) return [...mountRelayedPaths(cors), ...forwardAuth].map(withOptionsOfDoor)
  const account = { cors, recorder: createDoorRecorder(parts, settings) }
  const mounts: readonly Mount[] = [
    mountAccount(parts, accept(ACCEPTED.multiModelAccount), account),
    mountSignIn(parts, requireEntry, { openToken: signIns.openFor }),
    mountAdminApi(parts, accept(ACCEPTED.multiModelAdminApi), requireEntry),
    ...forwardAuth,
  ]
  return mounts.map(withOptionsOfDoor)
}

const withOptionsOfDoor = ({ segment, dialect }: Mount): Mount => ({
  segment,
  dialect: withDeclinedChallenges(dialect),
  methodOfDoor: 'OPTIONS',
})
