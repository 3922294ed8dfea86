// Builds the multi-model door: its dialect, its credential handlers, its upstream and the services behind it.

import { createRevalidation } from '../auth/authenticate.ts'
import { BEARER_HANDLER } from '../auth/bearer.ts'
import { ACCEPTED, type AcceptedCredentials, createMultiModelHandlers } from '../auth/credential.ts'
import { createSignInObserver } from '../auth/record-sign-ins.ts'
import { createRequirePassword } from '../auth/require-password.ts'
import { nowSeconds } from '../base/clock.ts'
import { toWireNames } from '../config/options.ts'
import { PAGE_TOKEN_HEADER } from '../dialects/admin-api/browser.ts'
import { INTENT_HEADER } from '../dialects/admin-api/steps.ts'
import { mountForwardAuth } from '../dialects/forward-auth/routes.ts'
import {
  type AuthenticateDeps,
  createDoorAuthenticator,
  createMultiModelEntry,
} from '../dialects/multi-model/authenticate.ts'
import { createMultiModelCors } from '../dialects/multi-model/cors.ts'
import { createMultiModelDialect, withDeclinedChallenges } from '../dialects/multi-model/dialect.ts'
import { createGrantedDatabases } from '../dialects/multi-model/granted-databases.ts'
import { createServerMode } from '../dialects/multi-model/mode.ts'
import { selectCredentials } from '../dialects/multi-model/rights.ts'
import { createRoutes } from '../dialects/multi-model/routes.ts'
import type { Databases } from '../dialects/multi-model/settings.ts'
import { createSignInService } from '../dialects/multi-model/sign-in.ts'
import type { Mount } from '../http/dispatch.ts'
import { createDoor, type Door } from '../http/door.ts'
import { warnOpenAccess } from '../live-config/open-access.ts'
import { mountAccount, mountAdminApi, mountSignIn } from './admin-door.ts'
import type { Core } from './core.ts'
import { type Parts, toDoorOptions } from './parts.ts'
import { createRecorder } from './sign-in.ts'
import { createMultiModelUpstream, createServices } from './upstreams.ts'

export function createMultiModelDoor(parts: Parts): Door {
  const { core, signIns: all, monitoring } = parts
  const { liveConfig, config, directory, tokenSecrets, gateway } = core
  warnOpenAccess(liveConfig)
  const databases = createGrantedDatabases(directory, () => config.get().upstream['multi-model'].length > 0)
  const doorSignIns = createTokenSignIns(parts)
  const { signIns, credentials } = doorSignIns
  const own = createDoorAuthenticator(credentials, ACCEPTED.multiModel, selectCredentials)
  const { confirmCredential, revalidate } = createRevalidation([own], all.revalidation)
  const { name, version } = config.get()['multi-model']
  const deps = {
    name,
    version,
    mode: createServerMode(),
    settings: config.get,
    directory,
    databases,
    ring: tokenSecrets.ring,
    checkHealth: monitoring.checkHealth,
    streams: gateway.streams,
    signIns,
    authenticate: own.authenticate,
    confirmCredential,
    requirePassword: createRequirePassword(all.passwords.proof),
    reservedHeaders: [INTENT_HEADER, PAGE_TOKEN_HEADER],
    nowSeconds: () => nowSeconds(core.kernel.clock),
    upstream: createMultiModelUpstream(core, revalidate),
    services: createServices(core, all, 'multi-model', revalidate),
  }
  return createDoor({
    ...toDoorOptions(parts, 'multi-model'),
    dialect: createMultiModelDialect({ ...deps, ...createRoutes(deps) }),
    mounts: createMounts(parts, doorSignIns, databases),
    tracing: core.tracing,
  })
}

const createDoorRecorder = (core: Core) =>
  createRecorder(core, 'multi-model', () => core.config.get().server['session-timeout'])

/** Issues tokens for passwords, and reads the credentials of this door. */
function createTokenSignIns({ core, signIns: { passwords, bearer, external } }: Parts) {
  const { config, directory, kernel, tokenSecrets } = core
  const recorder = createDoorRecorder(core)
  const signIns = createSignInService({
    directory,
    signIn: passwords.signIn,
    events: kernel.events,
    clock: kernel.clock,
    recorder,
    ring: tokenSecrets.ring.get,
    issuer: toWireNames(config.get()).issuer,
    settings: config.get,
  })
  const credentials: AuthenticateDeps = {
    handlers: createMultiModelHandlers({
      bearer: { ...bearer, findExternalToken: external.findToken(BEARER_HANDLER) },
      check: signIns.check,
      directory,
      clock: kernel.clock,
    }),
    knowsUsers: bearer.knowsUsers,
    observer: createSignInObserver(kernel.events, recorder),
  }
  return { signIns, credentials }
}

/** This door answers OPTIONS on the paths of other dialects too. */
function createMounts(
  parts: Parts,
  { signIns, credentials }: ReturnType<typeof createTokenSignIns>,
  databases: Databases,
): readonly Mount[] {
  const accept = (accepted: AcceptedCredentials) => createDoorAuthenticator(credentials, accepted)
  const requireEntry = createMultiModelEntry(parts.core.config.get, databases, accept(ACCEPTED.multiModelEntry))
  const { authenticate } = accept(ACCEPTED.multiModelForwardAuth)
  const account = { cors: createMultiModelCors(parts.core.config.get), recorder: createDoorRecorder(parts.core) }
  const mounts: readonly Mount[] = [
    mountAccount(parts, accept(ACCEPTED.multiModelAccount), account),
    mountSignIn(parts, requireEntry, { openToken: signIns.openFor }),
    mountAdminApi(parts, accept(ACCEPTED.multiModelAdminApi), requireEntry),
    ...mountForwardAuth({ ...parts.signIns.forwardAuth, authenticate, requireEntry }),
  ]
  return mounts.map(withOptionsOfDoor)
}

const withOptionsOfDoor = ({ segment, dialect }: Mount): Mount => ({
  segment,
  dialect: withDeclinedChallenges(dialect),
  methodOfDoor: 'OPTIONS',
})
