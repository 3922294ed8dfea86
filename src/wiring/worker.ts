// A worker thread: serves the connections that the main thread gives it, with the main thread's configuration. What it
// is not sure of, it relays to the main thread.
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { type MessagePort, parentPort } from 'node:worker_threads'
import { createLimits } from '../auth/limits/limits.ts'
import { createRelayedPasswords } from '../auth/relayed-passwords.ts'
import { receiveSockets } from '../base/node-internals/socket-channel.ts'
import { relay } from '../base/relay-needed.ts'
import { waitAtMost } from '../base/sleep.ts'
import { followChanges, openInbox } from '../cluster/inbox.ts'
import { FAILURES, type FromWorker, type LeaveOrder, type WorkerStart } from '../cluster/messages.ts'
import { createRemoteStore } from '../cluster/remote-store.ts'
import type { Store } from '../directory/store-port/store.ts'
import { createAccessLog } from '../http/access-log.ts'
import type { RelayRules } from '../http/dispatch.ts'
import type { Door } from '../http/door.ts'
import { createRelay } from '../http/relay.ts'
import { openServer, type TlsSettings } from '../http/server.ts'
import type { Kernel } from '../kernel/kernel.ts'
import { createReplica, type SnapshotCopy } from '../live-config/replica.ts'
import { createLog } from '../observe/log.ts'
import { createMetrics } from '../observe/metrics.ts'
import { addCacheMetrics, addUpstreamMetrics } from '../observe/part-metrics.ts'
import { createRequestObserver } from '../observe/request-metrics.ts'
import { type EventRow, SECURITY_EVENTS } from '../observe/security-event-table.ts'
import { createHasher } from '../passwords/hasher.ts'
import { openStoreClock } from '../store/store-clock.ts'
import { createDocumentDoor } from './document-door.ts'
import { createMultiModelDoor } from './multi-model-door.ts'
import { type Base, type Closing, describeKeys, openBase, type WorkerParts } from './parts.ts'
import { toDecoy, toIterationLimits, toLimitSettings } from './settings.ts'
import { createSignInParts } from './sign-in.ts'

const BEAT_MS = 250
/** A connection that has just arrived is read before it counts as idle: its request may be there. */
const FIRST_READ_MS = 100

export async function runWorker(start: WorkerStart): Promise<void> {
  const port = parentPort as MessagePort // a worker thread has one
  const post = (message: FromWorker) => port.postMessage(message)
  const remote = createRemoteStore(toEngineName(start.state.snapshot), post)
  // messages are read while the parts open: they read from the store
  const inbox = openInbox(port, remote.settle)
  const { kernel, applyLevel } = await openWorkerKernel(start.state.snapshot, remote.store, post)
  const liveConfig = createReplica(kernel, start.state.snapshot, start.generatedKey)
  const metrics = createMetrics()
  const closers: (() => unknown)[] = []
  const closing: Closing = (part) => {
    closers.push(() => part.close())
    return part
  }
  // only the main thread counts failed passwords
  const settings = () => toLimitSettings(liveConfig.get().settings.values)
  const guesses = createLimits({ settings, clock: kernel.clock })
  const base = await openBase(liveConfig, metrics, closing, { guesses })
  const describeMetrics = (): FromWorker => ({
    kind: 'metrics',
    copy: metrics.copy(),
    serverErrors: base.serverErrors.take(),
  })
  const parts = createWorkerParts(base, start, () => progress.countApplied())
  const progress = followChanges(start, inbox, liveConfig, {
    describeKeys: () => describeKeys(parts),
    catchUp: () => parts.directory.catchUp(),
  })
  const doors = { document: createDocumentDoor(parts), 'multi-model': createMultiModelDoor(parts) }
  const serving = serveConnections(start, doors, post)
  let hasLeft = false
  const leave = async (order: LeaveOrder) => {
    await finishRequests(order, serving, Object.values(doors), () => parts.gateway.streams.stop('feeds'))
    // a worker that retires may be stopped meanwhile
    if (hasLeft) return
    hasLeft = true
    for (const closePart of closers.toReversed()) await closePart()
    post(describeMetrics())
    process.exit(0)
  }
  inbox.onControl((message) => {
    if (message.kind === 'metrics') post(describeMetrics())
    else if (message.kind === 'tls') serving.replaceTls(message.listener, message.tls)
    else void leave(message)
  })
  setInterval(() => void Atomics.add(start.beats, 0, 1), BEAT_MS)
  await progress.catchUp()
  applyLevel(liveConfig.get().settings.values.log.level)
  liveConfig.onChange(({ settings }) => applyLevel(settings.values.log.level))
  // in this order: the main thread closes the channel of a worker that was not ready
  post({ kind: 'ready' })
  serving.start()
}

const toEngineName = ({ settings: { values } }: SnapshotCopy): string =>
  values.store.url.startsWith('sqlite') ? 'sqlite' : 'postgres'

async function openWorkerKernel(
  { settings: { values } }: SnapshotCopy,
  store: Store,
  post: (message: FromWorker) => void,
) {
  // while it opens, it could only repeat what the main thread has logged
  const log = createLog('error', values.log.format)
  // the main thread writes the time
  const clock = await openStoreClock(store, { log })
  clock.start({ isKept: false })
  const events: Kernel['events'] = {
    areOfMainThread: true,
    requireRecording: () => {},
    record: (event, fields) => {
      const { isOfEachThread }: EventRow = SECURITY_EVENTS[event]
      if (isOfEachThread) post({ kind: 'event', event, fields })
    },
    flush: () => {},
  }
  // no part of a worker thread uses the audit trail
  const audit = {} as Kernel['audit']
  // and none hashes a password
  const hasher = createHasher({ queue: () => 0 })
  const kernel: Kernel = { log, store, clock, hasher, events, audit, follow: () => {}, close: async () => {} }
  return { kernel, applyLevel: log.applyLevel }
}

function createWorkerParts(base: Base, start: WorkerStart, countApplied: RelayRules['countApplied']): WorkerParts {
  const { metrics, config, gateway, log, directory, guesses, hasher } = base
  const passwords = createRelayedPasswords({
    directory,
    hasher,
    limits: guesses,
    iterationLimits: () => toIterationLimits(config.get()),
    newPasswordWork: () => toDecoy(config.get()),
    size: () => config.get().chttpd_auth.auth_cache_size,
    acceptsOld: () => config.get().server['authentication-timeout'] === 0,
    countFailures: () => Atomics.load(start.counters, FAILURES),
  })
  addCacheMetrics(metrics, 'tokens', base.tokenSecrets.cache.counts)
  addUpstreamMetrics(metrics, gateway.listServers)
  metrics.collectValue('cardea_open_streams', () => gateway.streams.size)
  const relayed = metrics.counter('cardea_relayed_requests_total', {})
  return {
    ...base,
    ...createSignInParts(base, passwords),
    observeRequests: (door) => createRequestObserver(base, door),
    accessLog: createAccessLog(log, () => config.get().log.access),
    threads: start.threads,
    // the main thread knows all parts
    checkHealth: relay,
    relayOf: (door) => ({
      countApplied,
      relay: createRelay(start.relayPath, door, () => {
        relayed.count += 1
        return passwords.beforeRelay()
      }),
    }),
  }
}

/** Serves the connections that the main thread has accepted. */
function serveConnections(
  { listeners, fd }: WorkerStart,
  doors: Readonly<Record<string, Door>>,
  post: (message: FromWorker) => void,
) {
  // the main thread lends the listeners of these doors only
  const servers = listeners.map(({ door, endpoint, limits }) => openServer(doors[door] as Door, endpoint, limits))
  // this starts Node's check of header timeouts
  for (const { server } of servers) server.emit('listening')
  const open = new Map<Socket, Promise<unknown>>()
  const take = (socket: Socket, text: string): void => {
    const [listener = 0, connection = 0] = text.split(' ').map(Number)
    const closed = once(socket, 'close').catch(() => {})
    open.set(socket, closed)
    void closed.then(() => {
      open.delete(socket)
      post({ kind: 'closed', connection })
    })
    servers[listener]?.server.emit('connection', socket)
  }
  const closed = async (): Promise<void> => void (await Promise.all(open.values()))
  let received = Promise.resolve()
  return {
    start(): void {
      received = receiveSockets(fd, take)
    },
    /** Resolves when the main thread gives it no more connections. */
    received: () => received,
    replaceTls: (listener: number, tls: TlsSettings) => servers[listener]?.replaceTls(tls),
    closed,
    drop(): Promise<void> {
      for (const socket of open.keys()) socket.destroy()
      return closed()
    },
  }
}

/** Resolves when all connections are closed. */
async function finishRequests(
  { kind, graceMs }: LeaveOrder,
  serving: ReturnType<typeof serveConnections>,
  doors: readonly Door[],
  stopFeeds: () => void,
): Promise<void> {
  const endsAtMs = performance.now() + graceMs
  // a connection that this thread has not seen yet may be on its way
  await serving.received()
  for (const { connections } of doors) connections.retire()
  await waitAtMost([serving.closed()], kind === 'retire' ? graceMs : Math.min(graceMs, FIRST_READ_MS))
  for (const { connections } of doors) connections.stop()
  stopFeeds()
  if (kind === 'retire') return serving.closed()
  await waitAtMost([serving.closed()], Math.max(0, endsAtMs - performance.now()))
  await serving.drop()
}
