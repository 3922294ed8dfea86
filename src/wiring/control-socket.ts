// The admin API on the control socket, for the owner of the server.
import { existsSync } from 'node:fs'
import { OWNER } from '../auth/socket-owner.ts'
import { messageOf } from '../base/errors.ts'
import { keepRepeating } from '../base/sleep.ts'
import { createAdminApiDialect } from '../dialects/admin-api/dialect.ts'
import { createDoor, type Door } from '../http/door.ts'
import { type Listener, listen } from '../http/server.ts'
import { findSocketPath, isSocketPathSafe } from '../live-config/control-socket.ts'
import { createServerDeps } from './admin-door.ts'
import { type Parts, toDoorOptions } from './parts.ts'
import { toListenerLimits } from './settings.ts'

const OWNER_ONLY = 0o600

/**
 * A server without the socket still works, but its commands need `--url`: so a failure is only logged. `folder` is that
 * of the configuration.
 */
export async function openControlSocket(parts: Parts, folder: string | undefined): Promise<Listener | undefined> {
  const { config, log } = parts
  const seed = { storeUrl: config.get().store.url, folder }
  const path = findSocketPath(seed)
  if (path === undefined) return undefined
  const open = async () => {
    if (!isSocketPathSafe(path, seed)) throw new Error('its folder is not private to the owner')
    return listen(createControlDoor(parts), { kind: 'unix', path, mode: OWNER_ONLY }, toListenerLimits(config.get()))
  }
  const onFailure = (error: unknown): undefined => {
    log.warn('no control socket: commands need --url', { path, reason: messageOf(error) })
  }
  const first = await open().catch(onFailure)
  return first && keepOpen(path, first, open, onFailure)
}

const createControlDoor = (parts: Parts): Door =>
  createDoor({
    ...toDoorOptions(parts, 'control'),
    dialect: createAdminApiDialect({
      ...createServerDeps(parts),
      authenticate: async () => OWNER,
      requirePassword: async () => {},
      requireCurrentPassword: async () => {},
    }),
  })

const LOOK_MS = 1000

/** Opens the socket again if its file is removed: without it commands would find no server, and open the store. */
function keepOpen(
  path: string,
  first: Listener,
  open: () => Promise<Listener>,
  onFailure: (error: unknown) => undefined,
): Listener {
  let current: Listener | undefined = first
  const stop = keepRepeating(async () => {
    if (current && existsSync(path)) return LOOK_MS
    const lost = current
    // before another is opened: closing removes the file of that path
    void lost?.close(LOOK_MS)
    current = await open().catch((error) => (lost ? onFailure(error) : undefined))
    return LOOK_MS
  })
  return {
    ...first,
    async close(graceMs) {
      await stop()
      await current?.close(graceMs)
    },
  }
}
