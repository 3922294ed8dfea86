/**
 * The composition root: configuration in, a running Cardea out. This room alone knows every other; it decides nothing
 * about a request itself.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { deriveLive, type Live } from '../base/live.ts'
import type { Log } from '../base/log.ts'
import { PRODUCT } from '../base/product.ts'
import { renderNotices } from '../config/describe.ts'
import type { Config } from '../config/options.ts'
import type { Settings } from '../config/settings.ts'
import type { ControlDeps } from '../dialects/admin-api/operation.ts'
import type { Directory } from '../directory/directory.ts'
import type { Authenticated } from '../directory/identity.ts'
import type { Door } from '../http/door.ts'
import { type Endpoint, type Listener, listen } from '../http/server.ts'
import {
  createLiveConfig,
  type LiveConfig,
  type LiveConfigOptions,
  type ReloadReport,
} from '../live-config/live-config.ts'
import { StartError } from '../live-config/start-error.ts'
import { openTokenSecrets, type TokenSecrets } from '../live-config/token-secrets.ts'
import { createControlDeps, openControlSocket } from './control.ts'
import { openDirectory } from './directory.ts'
import { createDoors, type DoorName, type Doors } from './doors.ts'
import { type Gateway, openGateway } from './gateway.ts'
import { type Limits, openLimits } from './limits.ts'
import {
  toAdminEndpoints,
  toDocumentEndpoints,
  toListenerLimits,
  toMultiModelEndpoints,
  toStopTimeoutMs,
} from './options.ts'
import { describeOpenServices } from './services.ts'

export { ConfigError, StartError } from '../live-config/start-error.ts'

export interface AppOptions extends LiveConfigOptions {
  /** Where the configuration is: the place of the control socket where the store is no file. */
  readonly folder?: string | undefined
}

export interface Addresses {
  readonly document: readonly string[]
  readonly multiModel: readonly string[]
  /** Cardea's own paths alone; empty unless `admin.endpoint` is set. */
  readonly admin: readonly string[]
}

export interface App {
  readonly settings: Live<Settings>
  readonly directory: Directory
  listen(): Promise<Addresses>
  /** What was given and has no effect here, a sentence each. */
  notices(): readonly string[]
  /** What whoever starts it should look at. */
  warnings(): readonly string[]
  handle(request: IncomingMessage, response: ServerResponse, door: DoorName): Promise<void>
  /** Who a request to another server comes from, as this door would tell; `undefined`: nobody. */
  identify(request: IncomingMessage, door: DoorName): Promise<Authenticated | undefined>
  /** Reads everything, checks everything, then swaps, or keeps what is in force and says why. */
  reload(): Promise<ReloadReport>
  /** Stops accepting, finishes what is running within its time, lets go of everything. */
  close(): Promise<void>
}

export async function createApp(options: AppOptions): Promise<App> {
  const liveConfig = await createLiveConfig(options)
  const settings = deriveLive(liveConfig, (snapshot) => snapshot.settings)
  const parts = await openParts(liveConfig, options.log)
  const { directory, tokenSecrets, gateway, limits, doors, admin } = parts
  const listeners: Listener[] = []
  const running = new Set<Promise<void>>()
  let opening: Promise<Addresses> | undefined
  let isClosing = false
  let hasStarted = false
  const close = once(async () => {
    isClosing = true
    const graceMs = toStopTimeoutMs(settings.get().values)
    for (const door of [...Object.values(doors), admin]) door.stop()
    await opening?.catch(() => {}) // what it opens meanwhile is closed as well
    await Promise.all([...listeners.map((listener) => listener.close(graceMs)), waitFor(running, graceMs)])
    tokenSecrets.ring.stop()
    await gateway.close()
    await limits.close()
    await directory.close()
    liveConfig.events.flush()
    if (hasStarted) liveConfig.events.record('server.stopped', {})
    await liveConfig.store.close()
  })
  return {
    settings,
    directory,
    handle(request, response, name) {
      const door = findDoor(doors, name)
      if (!door) return refuseDoor(name)
      const run = door.handle(request, response).finally(() => running.delete(run))
      running.add(run)
      return run
    },
    async identify(request, name) {
      // what is remembered here would be told for ever: nobody hears any more what ends
      if (isClosing)
        throw new StartError('This Cardea is closed and cannot tell any more who is asking: create another')
      return findDoor(doors, name)?.identify(request) ?? refuseDoor(name)
    },
    reload: liveConfig.reload,
    notices: () => renderNotices(settings.get()),
    warnings: () => describeOpenServices(settings.get()),
    close,
    async listen() {
      if (isClosing) throw new StartError('This Cardea is closed and cannot listen any more: create another')
      if (opening) throw new StartError('This Cardea listens already')
      opening = openDoors(parts, liveConfig, options, listeners)
      try {
        const addresses = await opening
        if (isClosing) throw new StartError('This Cardea was closed while it began to listen')
        hasStarted = true
        const listening = [...addresses.document, ...addresses.multiModel]
        liveConfig.events.record('server.started', { version: PRODUCT.version, listening })
        return addresses
      } catch (error) {
        await close()
        throw error
      }
    },
  }
}

async function openDoors(
  { doors, admin: adminDoor, control }: Parts,
  liveConfig: LiveConfig,
  { folder, log }: AppOptions,
  opened: Listener[],
): Promise<Addresses> {
  const { values } = liveConfig.get().settings
  const document = await openAll(doors.document, toDocumentEndpoints(values), values, opened)
  const multiModel = await openAll(doors['multi-model'], toMultiModelEndpoints(values), values, opened)
  const admin = await openAll(adminDoor, toAdminEndpoints(values), values, opened)
  const socket = await openControlSocket(liveConfig, { deps: control, folder, log })
  if (socket) opened.push(socket)
  return { document, multiModel, admin }
}

/** The names are those of another program, which may have no types. */
const findDoor = (doors: Doors, name: DoorName): Door | undefined =>
  Object.hasOwn(doors, name) ? doors[name] : undefined

/** Rejects, but a program that does not look ends neither by a throw nor by a rejection nobody handles. */
function refuseDoor(name: unknown): Promise<never> {
  const refused = Promise.reject(new TypeError(`There is no door ${JSON.stringify(name)}: document or multi-model`))
  refused.catch(() => {})
  return refused
}

interface Parts {
  readonly directory: Directory
  readonly tokenSecrets: TokenSecrets
  readonly gateway: Gateway
  readonly limits: Limits
  readonly control: ControlDeps
  readonly doors: Doors
  readonly admin: Door
}

/** All of them, or none: whatever was opened before a failure is closed again, or the process would never end. */
async function openParts(liveConfig: LiveConfig, log: Log): Promise<Parts> {
  let tokenSecrets: TokenSecrets | undefined
  let directory: Directory | undefined
  let gateway: Gateway | undefined
  let limits: Limits | undefined
  try {
    tokenSecrets = await openTokenSecrets(liveConfig, log)
    directory = await openDirectory(liveConfig, log)
    const control = createControlDeps(liveConfig, directory)
    gateway = await openGateway({ liveConfig, directory, tokenSecrets, log })
    limits = openLimits(liveConfig, log)
    const { guesses } = limits
    const { doors, admin } = createDoors({ liveConfig, directory, tokenSecrets, gateway, guesses, control, log })
    return { directory, tokenSecrets, gateway, limits, control, doors, admin }
  } catch (error) {
    tokenSecrets?.ring.stop()
    await gateway?.close()
    await limits?.close()
    await directory?.close()
    await liveConfig.store.close()
    throw error
  }
}

function once<T>(work: () => Promise<T>): () => Promise<T> {
  let only: Promise<T> | undefined
  return () => {
    only ??= work()
    return only
  }
}

/** Until all of it is done, but no longer than this. */
async function waitFor(work: Iterable<Promise<unknown>>, mostMs: number): Promise<void> {
  const done = new AbortController()
  const late = pause(mostMs, undefined, { signal: done.signal }).catch(() => {})
  await Promise.race([Promise.allSettled(work), late])
  done.abort()
}

async function openAll(
  door: Door,
  endpoints: readonly Endpoint[],
  config: Config,
  opened: Listener[],
): Promise<string[]> {
  const urls: string[] = []
  for (const endpoint of endpoints) {
    const listener = await listen(door, endpoint, toListenerLimits(config)).catch((error) => {
      throw new StartError(explainListening(error, endpoint, door.dialect.name), { cause: error })
    })
    opened.push(listener)
    urls.push(listener.url)
  }
  return urls
}

const LISTEN_OPTIONS = new Map([
  ['document', '--chttpd.port and --chttpd.bind_address'],
  ['multi-model', '--server.endpoint'],
  ['admin', '--admin.endpoint'],
])

function explainListening(error: NodeJS.ErrnoException, endpoint: Endpoint, door: string): string {
  const place = endpoint.kind === 'unix' ? endpoint.path : `${endpoint.host}:${endpoint.port}`
  const why = LISTEN_FAILURES.get(error.code ?? '') ?? error.message
  return `The ${door} door cannot listen on ${place}: ${why}. Choose another place with ${LISTEN_OPTIONS.get(door)}.`
}

const LISTEN_FAILURES = new Map([
  ['EEXIST', 'a file stands there that is not a socket, and is left alone'],
  ['EADDRINUSE', 'something else listens there, perhaps another Cardea'],
  ['EACCES', 'this needs rights the process does not have'],
  ['EADDRNOTAVAIL', 'this machine does not have that address'],
  ['ENOTFOUND', 'that name has no address'],
])
