/**
 * Runs a command through a running server, found by its socket or named with `--url`. If none is running, this process
 * opens the store and holds its lock. A server that runs and does not respond is an error: its store is never changed
 * directly.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { codeOf, messageOf } from '../base/errors.ts'
import { API_PREFIX, LIVE_PATH } from '../base/own-paths.ts'
import { toPrintable } from '../base/printable.ts'
import type { OperationName, OperationResult } from '../dialects/admin-api/operations.ts'
import { StartError, StoreBusy } from '../kernel/start-error.ts'
import { findSocketPath, isSocketPathSafe, type SocketSeed } from '../live-config/control-socket.ts'
import { findConfigFolder, openConfiguration } from '../live-config/load.ts'
import { OPERATIONS } from '../modules.ts'
import { createLog } from '../observe/log.ts'
import type { SecurityEvents } from '../observe/security-events.ts'
import { describeHolder, findHolderProgram } from '../store/lock.ts'
import { type Context, commandError } from './context.ts'
import type { CommandOutcome, Offline } from './offline.ts'
import { requireNone, toExit, toInput } from './own-settings.ts'
import {
  type ControlServer,
  explainFailure,
  type RemoteOptions,
  readControlError,
  readRemote,
  sendControl,
} from './remote.ts'

export type Query = Readonly<Record<string, string | undefined>>

export interface CallInput {
  readonly params?: Readonly<Record<string, string>>
  /** Those that are `undefined` are not sent. */
  readonly query?: Query
  readonly body?: unknown
}

export interface Control {
  /** Throws a `ControlFailure` if the operation is rejected. */
  call<N extends OperationName>(name: N, input?: CallInput): Promise<OperationResult<N>>
  close(): Promise<void>
}

/** An operation was rejected, by a server or by the opened store, with the same code and reason. */
export class ControlFailure extends Error {
  override readonly name = 'ControlFailure'
  readonly code: string
  constructor(code: string, reason: string) {
    super(reason)
    this.code = code
  }
}

export async function openControl(context: Context, options: RemoteOptions): Promise<Control> {
  const remote = await readRemote(context, options)
  return remote ? createRemoteControl(remote) : findOrOpen(context)
}

/** For commands that make sense only while a server is running. It may run although its files are invalid by now. */
export async function openRunning(context: Context, options: RemoteOptions): Promise<Control> {
  const remote = await readRemote(context, options)
  if (remote) return createRemoteControl(remote)
  const { seed, requireValid, empty } = readPlace(context)
  const server = await findServer(seed)
  if (server) return createRemoteControl(server)
  requireValid()
  const [emptied] = empty
  throw commandError(emptied === undefined ? NOT_RUNNING : describeEmptied(emptied))
}

/** The server is found through the address of its store, which an empty file no longer contains. */
const describeEmptied = (path: string): string =>
  `The configuration file ${toPrintable(path)} is empty, so this command cannot find the server that was started with its former content. Restore the file, or name the server with --url.`

const NOT_RUNNING = 'No server is running with this configuration. Name another one with --config or --url.'

/** The server with this configuration, if it runs on this machine. */
export async function findRunning(context: Context): Promise<Control | undefined> {
  const server = await findServer(readPlace(context).seed)
  return server && createRemoteControl(server)
}

/**
 * Lets the running server record what a command has read, if there is one: such a command leaves the store as it is, so
 * it does not open the store for a record. Never fails.
 */
export async function recordAtServer(
  context: Context,
  body: { event: 'store.saved' | 'audit.verified'; records: number; findings?: number },
): Promise<void> {
  const server = await findRunning(context).catch(() => undefined)
  await server?.call('audit.record-command', { body }).catch((error: unknown) => {
    context.printError(`Warning: the server did not record this: ${messageOf(error)}`)
  })
}

/** For commands that replace the store. A server on another machine cannot be seen. */
export async function requireStopped(context: Context): Promise<void> {
  const { seed, requireValid } = readPlace(context)
  requireValid()
  if (!(await findServer(seed))) return
  throw commandError('The server is running. Nothing was changed. Stop it first, on every node.')
}

/** For commands that have replaced the store. */
export async function recordInStore(context: Context, record: (events: SecurityEvents) => void): Promise<void> {
  const { recordOffline } = await import('./offline.ts')
  await recordOffline({ load: readPlace(context).load, log: createLog('error') }, record)
}

/** Servers take a moment to open their socket, and commands to release the store. */
const WAIT_MS = 5000
const AGAIN_MS = 100

async function findOrOpen(context: Context): Promise<Control> {
  const { load, seed, requireValid } = readPlace(context)
  requireValid()
  const until = performance.now() + WAIT_MS
  for (;;) {
    const server = await findServer(seed)
    if (server) return createRemoteControl(server)
    const offline = await tryOffline(load)
    if (offline?.newFile !== undefined) context.printError(`Made a new store at ${offline.newFile}`)
    if (offline) return createLocalControl(offline)
    if (performance.now() > until) throw commandError(renderBusy(seed.storeUrl))
    await pause(AGAIN_MS)
  }
}

function renderBusy(storeUrl: string): string {
  const program = findHolderProgram(storeUrl)
  // the command line of Cardea is a program of this name
  const kind =
    program === undefined || /\bcardea$/.test(program)
      ? 'a server that starts, stops or hangs, or another command'
      : `${program}, a program that uses Cardea as a library. Commands reach it after it has called listen()`
  return `Another process${describeHolder(storeUrl)} holds the store and does not answer: ${kind}.
Nothing was changed. Try again, stop that process, or name a server with --url.`
}

function readPlace(context: Context) {
  const empty = new Set<string>()
  const input = { ...toInput(context), pipes: new Map(), empty }
  const load = () => openConfiguration(input)
  const { settings, problems } = load()([])
  const requireValid = () => requireNone(problems)
  const seed: SocketSeed = { storeUrl: settings.values.store.url, folder: findConfigFolder(input) }
  return { load, seed, requireValid, empty }
}

/** `undefined`: another process holds the store. */
async function tryOffline(load: () => ReturnType<typeof openConfiguration>): Promise<Offline | undefined> {
  const { openOffline } = await import('./offline.ts')
  try {
    // warnings of a start do not concern this command
    return await openOffline({ load, log: createLog('error') })
  } catch (error) {
    if (error instanceof StoreBusy) return undefined
    throw error instanceof StartError ? toExit(error) : error
  }
}

const ANSWER_MS = 5000

/** No server is listening. */
const ABSENT: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'ENOTSOCK', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE'])

async function findServer(seed: SocketSeed): Promise<ControlServer | undefined> {
  const path = findSocketPath(seed)
  if (path === undefined || !isSocketPathSafe(path, seed)) return undefined
  const server: ControlServer = { kind: 'socket', path }
  try {
    const { status } = await sendControl(server, { method: 'GET', target: LIVE_PATH, timeoutMs: ANSWER_MS })
    return status === 200 ? server : undefined
  } catch (error) {
    if (ABSENT.has(codeOf(error))) return undefined
    throw commandError(`${explainSilence(codeOf(error), path)}\nNothing was changed.`)
  }
}

const explainSilence = (code: string, path: string): string =>
  code === 'EACCES' || code === 'EPERM'
    ? `A server may be running, but ${path} is another user's: run this as that user, or use --url.`
    : `A server is running, but does not answer at ${path}.`

function createLocalControl(offline: Offline): Control {
  const run = (name: OperationName, { params = {}, query = {}, body }: CallInput) =>
    offline.run(name, { params, query: toParameters(query), body })
  return { call: createCall(run), close: () => offline.close() }
}

const CALL_MS = 120_000

function createRemoteControl(server: ControlServer): Control {
  const run = async (name: OperationName, input: CallInput): Promise<CommandOutcome> => {
    const { method } = OPERATIONS[name]
    const request = { method, target: toTarget(OPERATIONS[name].path, input), timeoutMs: CALL_MS, body: input.body }
    const { status, value } = await sendControl(server, request).catch((error) => {
      throw commandError(`The server at ${placeOf(server)} cannot be reached: ${explainFailure(error)}`)
    })
    if (status === 200 && value !== undefined) return { kind: 'done', value }
    const error = readControlError(value)
    if (error) return { kind: 'refused', ...error }
    throw commandError(`What answers at ${placeOf(server)} is not the control API of Cardea (${status}).`)
  }
  return { call: createCall(run), close: async () => {} }
}

const placeOf = (server: ControlServer): string => (server.kind === 'socket' ? server.path : server.url.origin)

const createCall =
  (run: (name: OperationName, input: CallInput) => Promise<CommandOutcome>): Control['call'] =>
  async <N extends OperationName>(name: N, input: CallInput = {}) => {
    const outcome = await run(name, input)
    if (outcome.kind === 'refused') throw new ControlFailure(outcome.error, outcome.reason)
    // client and server use the same table of operations
    return outcome.value as OperationResult<N>
  }

function toTarget(path: string, { params = {}, query = {} }: CallInput): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeSegment(params[name] ?? ''))
  const search = toParameters(query).toString()
  return `${API_PREFIX}${filled}${search === '' ? '' : `?${search}`}`
}

const toParameters = (query: Query): URLSearchParams =>
  new URLSearchParams(Object.entries(query).flatMap(([name, text]) => (text === undefined ? [] : [[name, text]])))

/** A name of only dots would be a relative path segment. */
const encodeSegment = (text: string): string =>
  /^\.+$/.test(text) ? text.replaceAll('.', '%2E') : encodeURIComponent(text)
