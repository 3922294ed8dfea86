// What both doors share of the wiring: one check of passwords.

import type { PasswordCheck } from '../auth/basic.ts'
import type { PasswordLimits } from '../auth/limits/limits.ts'
import { recordSignIn } from '../auth/record-sign-ins.ts'
import type { RequirePasswordDeps } from '../auth/require-password.ts'
import type { CookieSecrets } from '../auth/session/secrets.ts'
import type { SessionSettings } from '../auth/session/set-cookie.ts'
import { createSignIn, type DoorSignIn } from '../auth/sign-in.ts'
import { SYSTEM_CLOCK } from '../base/clock.ts'
import { deriveLive, type Live } from '../base/live.ts'
import type { Log } from '../base/log.ts'
import type { ControlDeps } from '../dialects/admin-api/operation.ts'
import type { AdminSessions } from '../dialects/admin-api/session.ts'
import { DOCUMENT_BASIC } from '../dialects/document/basic.ts'
import type { Directory } from '../directory/directory.ts'
import { createTotpCheck } from '../directory/totp.ts'
import type { Door } from '../http/door.ts'
import type { JwtKeys } from '../keys/jwt-keys.ts'
import { followCookieSecret } from '../live-config/cookie-secret.ts'
import type { LiveConfig } from '../live-config/live-config.ts'
import { followKeys } from '../live-config/token-keys.ts'
import type { TokenSecrets } from '../live-config/token-secrets.ts'
import { createPasswordMemory } from '../passwords/password-memory.ts'
import { createAdminDoor } from './admin-door.ts'
import { createAdminSessions } from './admin-sessions.ts'
import { createDocumentDoor } from './document-door.ts'
import type { Gateway } from './gateway.ts'
import { createMultiModelDoor } from './multi-model-door.ts'
import { isGiven, toDecoy, toIterationLimits, toSessionSettings } from './options.ts'

/** What each door is wired from. */
export interface DoorParts {
  readonly liveConfig: LiveConfig
  readonly directory: Directory
  readonly signIn: DoorSignIn
  readonly guesses: PasswordLimits
  /** For users who change their own credentials. */
  readonly passwordProof: RequirePasswordDeps
  /** The same for the Basic credential of the document door. */
  readonly check: PasswordCheck
  readonly control: ControlDeps
  readonly adminSessions: AdminSessions
  /** Of the cookies of the document door and of /_cardea/. */
  readonly cookieSecrets: CookieSecrets
  /** Of the cookies of the document door. */
  readonly sessionSettings: Live<SessionSettings>
  readonly tokenSecrets: TokenSecrets
  /** The keys of the document door's tokens. */
  readonly jwtKeys: Live<JwtKeys>
  readonly gateway: Gateway
  readonly log: Log
}

export type DoorName = 'document' | 'multi-model'
export type Doors = Readonly<Record<DoorName, Door>>

export interface Entrances {
  readonly doors: Doors
  /** The listener of Cardea's own paths. */
  readonly admin: Door
}

type Given = Omit<
  DoorParts,
  'signIn' | 'passwordProof' | 'check' | 'jwtKeys' | 'adminSessions' | 'cookieSecrets' | 'sessionSettings'
>

export function createDoors(given: Given): Entrances {
  const signIn = createDoorSignIn(given)
  const check: PasswordCheck = (name, password, source) =>
    signIn({ name, password, source, handler: DOCUMENT_BASIC.name })
  const sessionSettings = deriveLive(given.liveConfig, ({ settings }) => toSessionSettings(settings.values))
  const cookieSecrets = followCookieSecret(given.liveConfig, () => sessionSettings.get().timeoutSeconds)
  const adminSessions = createAdminSessions({ ...given, signIn, cookieSecrets })
  const passwordProof = {
    directory: given.directory,
    signIn,
    maxAgeSeconds: () => given.liveConfig.get().settings.values.auth['reauthenticate-after'],
    clock: SYSTEM_CLOCK,
  }
  const jwtKeys = followKeys(given.liveConfig, given.log)
  const parts: DoorParts = {
    ...given,
    signIn,
    passwordProof,
    check,
    jwtKeys,
    cookieSecrets,
    sessionSettings,
    adminSessions,
  }
  const doors = { document: createDocumentDoor(parts), 'multi-model': createMultiModelDoor(parts) }
  return { doors, admin: createAdminDoor(parts) }
}

type SignInParts = Pick<DoorParts, 'liveConfig' | 'directory' | 'guesses'>

function createDoorSignIn({ liveConfig, directory, guesses }: SignInParts): DoorSignIn {
  const config = () => liveConfig.get().settings.values
  const signIn = createSignIn({
    findAccount: directory.findAccount,
    onPassword: directory.upgradeHash,
    hasher: liveConfig.hasher,
    memory: createPasswordMemory(() => config().chttpd_auth.auth_cache_size),
    limits: guesses,
    codes: createTotpCheck(liveConfig.store, SYSTEM_CLOCK),
    newPasswordWork: () => toDecoy(config()),
    storedWork: directory.storedWork,
    iterationLimits: () => toIterationLimits(config()),
  })
  const recorded = recordSignIn(signIn, liveConfig.events)
  const namesProxies = deriveLive(liveConfig, ({ settings }) => isGiven(settings, 'chttpd', 'trusted_proxies'))
  return ({ source, ...attempt }) => {
    const { address, directAddress } = source.client
    // until an administrator has named the proxies, any local program may claim any address
    const directPeer = namesProxies.get() ? undefined : directAddress
    return recorded({ ...attempt, peer: address, directPeer, waiting: source })
  }
}
