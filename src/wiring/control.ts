// The control API, wired: at both doors for administrators, and on a socket for whoever owns the process.

import { createRequirePasswordInBody } from '../auth/require-password.ts'
import { deriveLive } from '../base/live.ts'
import type { Log } from '../base/log.ts'
import { PRODUCT } from '../base/product.ts'
import { describeSettings, toShownText } from '../config/describe.ts'
import { findOption } from '../config/options.ts'
import { type ControlDialectOptions, createControlDialect } from '../dialects/admin-api/dialect.ts'
import type { ControlDeps, ControlSettings, SettingChange } from '../dialects/admin-api/operation.ts'
import { CONTROL_SEGMENT } from '../dialects/admin-api/routes.ts'
import type { Directory } from '../directory/directory.ts'
import { ANONYMOUS, type Authenticated } from '../directory/identity.ts'
import type { Mount } from '../http/dispatch.ts'
import { createDoor } from '../http/door.ts'
import type { Dialect } from '../http/request-context.ts'
import { type Listener, listen } from '../http/server.ts'
import type { LiveConfig } from '../live-config/live-config.ts'
import { createSettingsService } from '../live-config/settings-service.ts'
import { CONSOLE_FILES } from './console-files.ts'
import { findSocketPath, isSocketPathSafe } from './control-socket.ts'
import type { DoorParts } from './doors.ts'
import { toDoorLimits, toListenerLimits, toTrustRules } from './options.ts'
import type { RequireEntry } from './wayside.ts'

export const createControlDeps = (liveConfig: LiveConfig, directory: Directory): ControlDeps => ({
  directory,
  events: liveConfig.events,
  settings: createControlSettings(liveConfig),
  health: () => ({
    product: PRODUCT.name,
    version: PRODUCT.version,
    pid: process.pid,
    store: liveConfig.store.engine,
    stalenessMs: directory.stalenessMs(),
  }),
})

function createControlSettings(liveConfig: LiveConfig): ControlSettings {
  const service = createSettingsService(liveConfig)
  const change = async (section: string, key: string, work: () => Promise<string>): Promise<SettingChange> => {
    const said = liveConfig.get().warnings
    const previous = await work()
    const { configured, warnings } = liveConfig.get()
    return {
      name: `${section}.${key}`,
      previous,
      value: toShownText({ section, key, text: configured.find(section, key)?.text ?? '' }),
      needsRestart: findOption(section, key)?.option.reload === 'restart',
      warnings: warnings.filter((warning) => !said.includes(warning)),
    }
  }
  return {
    list: () => describeSettings(liveConfig.get().configured),
    set: (section, key, text, options) => change(section, key, () => service.set(section, key, text, options)),
    unset: (section, key) => change(section, key, () => service.unset(section, key, { isStrict: true })),
  }
}

export interface OwnDialectOptions {
  authenticate: ControlDialectOptions['authenticate']
  /** Whether the listener serves nothing else. */
  readonly isOwnOrigin: boolean
  /** Where the rules of a door close the page and the sign-in, which are open otherwise. */
  readonly requireEntry?: RequireEntry
}

/** The API and the page, for programs and browsers. */
export function createOwnDialect(parts: DoorParts, options: OwnDialectOptions): Dialect {
  const { authenticate, isOwnOrigin, requireEntry } = options
  const pages = { sessions: parts.adminSessions, files: CONSOLE_FILES, product: PRODUCT, isOwnOrigin }
  return createControlDialect({
    ...parts.control,
    authenticate,
    requirePassword: createRequirePasswordInBody({
      ...parts.passwordProof,
      maxAgeSeconds: () => parts.liveConfig.get().settings.values.admin['reauthenticate-after'],
    }),
    console: pages,
    ...(requireEntry && { requireEntry }),
  })
}

/** At a door programs show the credentials that door takes, except its cookie. */
export const mountControl = (
  parts: DoorParts,
  authenticate: ControlDialectOptions['authenticate'],
  requireEntry: RequireEntry,
): Mount => ({
  segment: CONTROL_SEGMENT,
  dialect: createOwnDialect(parts, { authenticate, isOwnOrigin: false, requireEntry }),
})

/** Who may open the socket may do everything: its file is the owner's alone. */
const OWNER: Authenticated = Object.freeze({
  identity: Object.freeze({ ...ANONYMOUS.identity, isAdmin: true }),
  by: 'socket',
})

const OWNER_ALONE = 0o600

export interface ControlSocketOptions {
  readonly deps: ControlDeps
  /** Where the configuration is. */
  readonly folder: string | undefined
  readonly log: Log
}

/** Without it the server works as well, and commands need `--url`: so what keeps it from opening is only reported. */
export async function openControlSocket(
  liveConfig: LiveConfig,
  options: ControlSocketOptions,
): Promise<Listener | undefined> {
  const { deps, folder, log } = options
  const config = deriveLive(liveConfig, ({ settings }) => settings.values)
  const seed = { storeUrl: config.get().store.url, folder }
  const path = findSocketPath(seed)
  if (path === undefined) return undefined
  const door = createDoor({
    dialect: createControlDialect({ ...deps, authenticate: async () => OWNER, requirePassword: async () => {} }),
    limits: deriveLive(config, toDoorLimits),
    trust: deriveLive(config, toTrustRules),
    log,
  })
  try {
    if (!isSocketPathSafe(path, seed)) throw new Error('its folder is not private to the owner')
    return await listen(door, { kind: 'unix', path, mode: OWNER_ALONE }, toListenerLimits(config.get()))
  } catch (error) {
    log.warn('no control socket: commands need --url', { path, error })
    return undefined
  }
}
