// The two doors, wired: each has its dialect, its own ordered credentials, and the live options it needs.

import { SYSTEM_CLOCK } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import { deriveLive } from '../base/live.ts'
import type { Log } from '../base/log.ts'
import { PRODUCT } from '../base/product.ts'
import { authenticate } from '../credentials/authenticate.ts'
import { createBasicHandler, type PasswordCheck } from '../credentials/basic.ts'
import type { CredentialHandler } from '../credentials/handler.ts'
import { DOCUMENT_BASIC } from '../dialects/document/basic.ts'
import { createDocumentDialect } from '../dialects/document/dialect.ts'
import { MULTI_MODEL_BASIC } from '../dialects/multi-model/basic.ts'
import { createMultiModelDialect } from '../dialects/multi-model/dialect.ts'
import { createDoor, type Door } from '../door/door.ts'
import type { Exchange } from '../door/exchange.ts'
import { ANONYMOUS, type Authenticated } from '../identity/identity.ts'
import { createLockout } from '../identity/lockout.ts'
import { createPasswordMemory } from '../identity/password-memory.ts'
import { createSignIn } from '../identity/sign-in.ts'
import {
  toDocumentDoorLimits,
  toDocumentSettings,
  toDoorLimits,
  toHashParameters,
  toMultiModelSettings,
  toTrustRules,
} from './options.ts'
import type { State } from './state.ts'

export type DoorName = 'document' | 'multi-model'
export type Doors = Readonly<Record<DoorName, Door>>

export function createDoors(state: State, log: Log): Doors {
  const check = createPasswordCheck(state, log)
  return { document: createDocumentDoor(state, check, log), 'multi-model': createMultiModelDoor(state, check, log) }
}

function createPasswordCheck(state: State, log: Log): PasswordCheck {
  const config = () => state.get().settings.values
  const lockout = createLockout({
    mode: () => config().chttpd_auth_lockout.mode,
    threshold: () => config().chttpd_auth_lockout.threshold,
    maxObjects: () => config().chttpd_auth_lockout.max_objects,
    maxLifetimeMs: () => config().chttpd_auth_lockout.max_lifetime,
    clock: SYSTEM_CLOCK,
    log,
  })
  const signIn = createSignIn({
    findAccount: async (name) => state.get().administrators.get(name),
    hasher: state.hasher,
    memory: createPasswordMemory(() => config().chttpd_auth.auth_cache_size),
    lockout,
    parameters: () => toHashParameters(config()),
  })
  return (name, password, source) => signIn({ name, password, peer: source.client.address, signal: source.signal })
}

function createDocumentDoor(state: State, check: PasswordCheck, log: Log): Door {
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

function createMultiModelDoor(state: State, check: PasswordCheck, log: Log): Door {
  const config = deriveLive(state, ({ settings }) => settings.values)
  const settings = deriveLive(config, toMultiModelSettings)
  const handlers = [createBasicHandler(MULTI_MODEL_BASIC, check)]
  const { 'multi-model': names } = config.get()
  const dialect = createMultiModelDialect({
    name: names.name,
    version: names.version,
    product: PRODUCT,
    settings: settings.get,
    authenticate: (exchange) => authenticateOrNobody(exchange, handlers),
  })
  return createDoor({ dialect, limits: deriveLive(config, toDoorLimits), trust: deriveLive(config, toTrustRules), log })
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
