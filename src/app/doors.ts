// What both doors share of the wiring: one check of passwords.
import { SYSTEM_CLOCK } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { PasswordCheck } from '../credentials/basic.ts'
import type { ControlNeeds } from '../dialects/control/operation.ts'
import type { Door } from '../door/door.ts'
import type { Directory } from '../identity/directory.ts'
import { createLockout } from '../identity/lockout.ts'
import { createPasswordMemory } from '../identity/password/password-memory.ts'
import { createSignIn } from '../identity/sign-in.ts'
import { createTotpCheck } from '../identity/totp.ts'
import { createDocumentDoor } from './document-door.ts'
import { createMultiModelDoor } from './multi-model-door.ts'
import { toDecoy, toIterationLimits } from './options.ts'
import type { State } from './state.ts'

/** What each door is wired from. */
export interface DoorParts {
  readonly state: State
  readonly directory: Directory
  readonly check: PasswordCheck
  readonly control: ControlNeeds
  readonly log: Log
}

export type DoorName = 'document' | 'multi-model'
export type Doors = Readonly<Record<DoorName, Door>>

export function createDoors(state: State, directory: Directory, control: ControlNeeds, log: Log): Doors {
  const check = createPasswordCheck(state, directory, log)
  return {
    document: createDocumentDoor({ state, directory, check, control, log }),
    'multi-model': createMultiModelDoor({ state, directory, check, control, log }),
  }
}

function createPasswordCheck(state: State, directory: Directory, log: Log): PasswordCheck {
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
    findAccount: directory.findAccount,
    onPassword: directory.upgradeHash,
    hasher: state.hasher,
    memory: createPasswordMemory(() => config().chttpd_auth.auth_cache_size),
    lockout,
    codes: createTotpCheck(SYSTEM_CLOCK),
    decoy: () => toDecoy(config()),
    limits: () => toIterationLimits(config()),
  })
  return (name, password, source) => signIn({ name, password, peer: source.client.address, signal: source.signal })
}
