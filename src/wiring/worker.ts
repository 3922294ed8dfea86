// A worker thread: serves the connections that the main thread gives it, with the main thread's configuration. What it
// is not sure of, it relays to the main thread.
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { type MessagePort, parentPort } from 'node:worker_threads'
import { MULTI_MODEL_BASIC, readBasic } from '../auth/basic.ts'
import { createKnownHeaders, type KnownHeaders, type Peers } from '../auth/known-headers.ts'
import { createLimits } from '../auth/limits/limits.ts'
import { type Attempt, createSignIn, toRemembered } from '../auth/sign-in.ts'
import { SYSTEM_CLOCK } from '../base/clock.ts'
import { createLive } from '../base/live.ts'
import { receiveSockets } from '../base/node-internals/socket-channel.ts'
import { relay } from '../base/relay-needed.ts'
import { waitAtMost } from '../base/sleep.ts'
import { followChanges, openInbox } from '../cluster/inbox.ts'
import { FAILURES, type FromWorker, type LeaveOrder, type WorkerStart } from '../cluster/messages.ts'
import { createRemoteStore } from '../cluster/remote-store.ts'
import type { Account } from '../directory/account.ts'
import { createAccessLog } from '../http/access-log.ts'
import type { RelayRules } from '../http/dispatch.ts'
import type { Door } from '../http/door.ts'
import { createRelay, type KnownAccount } from '../http/relay.ts'
import { openServer, type TlsSettings } from '../http/server.ts'
import type { Kernel } from '../kernel/kernel.ts'
import type { LiveConfig } from '../live-config/live-config.ts'
import { createReplica, type SnapshotCopy } from '../live-config/replica.ts'
import { createLog } from '../observe/log.ts'
import { createMetrics } from '../observe/metrics.ts'
import { addCacheMetrics, addUpstreamMetrics } from '../observe/part-metrics.ts'
import { createRequestObserver } from '../observe/request-metrics.ts'
import { createHasher } from '../passwords/hasher.ts'
import { createPasswordMemory } from '../passwords/password-memory.ts'
import { createDocumentDoor } from './document-door.ts'
import { createMultiModelDoor } from './multi-model-door.ts'
import { type Base, type Closing, describeKeys, openBase, type openConfiguredLimits, type Parts } from './parts.ts'
import { toDecoy, toIterationLimits, toLimitSettings } from './settings.ts'
import { createSignInParts } from './sign-in.ts'

const BEAT_MS = 250

export async function runWorker(start: WorkerStart): Promise<void> {
  const port = parentPort as MessagePort // a worker thread has one
  const post = (message: FromWorker) => port.postMessage(message)
  const { kernel, remote, applyLevel } = createWorkerKernel(start.state.snapshot, post)
  const liveConfig = createReplica(kernel, start.state.snapshot, start.generatedKey)
  const metrics = createMetrics()
  const closers: (() => unknown)[] = []
  const closing: Closing = (part) => {
    closers.push(() => part.close())
    return part
  }
  // messages are read while the parts open: they read from the store
  const inbox = openInbox(port, remote.settle)
  const base = await openBase(liveConfig, metrics, closing, { openGuessLimits: openNoLimits })
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
    post({ kind: 'metrics', copy: metrics.copy() })
    process.exit(0)
  }
  inbox.onControl((message) => {
    if (message.kind === 'metrics') post({ kind: 'metrics', copy: metrics.copy() })
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

function createWorkerKernel({ settings: { values } }: SnapshotCopy, post: (message: FromWorker) => void) {
  // while it opens, it could only repeat what the main thread has logged
  const log = createLog({ ...values.log, level: 'error' })
  const remote = createRemoteStore(values.store.url.startsWith('sqlite') ? 'sqlite' : 'postgres', post)
  const events: Kernel['events'] = {
    areOfMainThread: true,
    requireRecording: () => {},
    // what concerns a request or a reload, the main thread records itself
    record: (event, fields) => {
      if (event.startsWith('upstream.')) post({ kind: 'event', event, fields })
    },
    flush: () => {},
  }
  // no part of a worker thread uses the audit trail
  const audit = {} as Kernel['audit']
  // and none hashes a password
  const hasher = createHasher({ queue: () => 0 })
  const kernel: Kernel = { log, store: remote.store, hasher, events, audit, follow: () => {}, close: async () => {} }
  return { kernel, remote, applyLevel: log.applyLevel }
}

/** Only the main thread counts failed passwords. */
function openNoLimits(liveConfig: LiveConfig): ReturnType<typeof openConfiguredLimits> {
  const settings = () => toLimitSettings(liveConfig.get().settings.values)
  const guesses = createLimits({ settings, clock: SYSTEM_CLOCK })
  // the paths that show limits are relayed
  return { guesses, accounts: {} as ReturnType<typeof openConfiguredLimits>['accounts'], close: async () => {} }
}

function createWorkerParts(base: Base, start: WorkerStart, countApplied: RelayRules['countApplied']): Parts {
  const { metrics, config, gateway, log } = base
  const passwords = createWorkerPasswords(base, start)
  addCacheMetrics(metrics, 'tokens', base.tokenSecrets.cache.counts)
  addUpstreamMetrics(metrics, gateway.listServers)
  metrics.collectValue('cardea_open_streams', () => gateway.streams.size)
  const relayed = metrics.counter('cardea_relayed_requests_total', {})
  const parts = {
    ...base,
    ...createSignInParts(base, passwords),
    listening: createLive<readonly string[]>([]),
    observeRequests: (door: string) => createRequestObserver(metrics, door),
    accessLog: createAccessLog(log, () => config.get().log.access),
    threads: start.threads,
    relayOf: (door: string): RelayRules => ({
      countApplied,
      relay: createRelay(start.relayPath, door, () => {
        relayed.count += 1
        return passwords.beforeRelay()
      }),
    }),
  }
  // the others are for paths that are relayed
  return parts as unknown as Parts
}

/** How long a password that the main thread has accepted is not shown to it again: it notes who has proved one. */
const MAX_KNOWN_MS = 3_600_000

/** Accepts passwords that the main thread has accepted, until any password check fails: then limits may have changed. */
function createWorkerPasswords(base: Base, { counters }: WorkerStart) {
  const { config, directory, guesses, hasher } = base
  const size = () => config.get().chttpd_auth.auth_cache_size
  const shared = { limits: guesses, iterationLimits: () => toIterationLimits(config.get()) }
  const { noteSignIn } = directory
  const create = () => {
    const memory = createPasswordMemory(size)
    const known = createKnownHeaders({ ...shared, directory, noteSignIn, size, counts: memory.counts })
    const signIn = createSignIn({
      ...shared,
      memory,
      findAccount: directory.findAccount,
      onPassword: async (account) => (directory.isUpgradeDue(account) ? relay() : account),
      hasher: { ...hasher, verify: relay, pad: relay },
      spendCode: relay,
      newPasswordWork: () => toDecoy(config.get()),
      storedWork: directory.storedWork,
    })
    return { memory, known, signIn, failures: Atomics.load(counters, FAILURES), atMs: performance.now() }
  }
  let latest = create()
  const current = () => {
    const isOld = performance.now() - latest.atMs > MAX_KNOWN_MS
    if (isOld || Atomics.load(counters, FAILURES) !== latest.failures) latest = create()
    return latest
  }
  return {
    recorded: async (attempt: Attempt): Promise<Account> => {
      const account = (await current().signIn(attempt)) ?? (await relay())
      noteSignIn(account.name, attempt.peer)
      return account
    },
    known: {
      find: (header: string, peers: Peers) => current().known.find(header, peers),
      remember: (header: string, account: Parameters<KnownHeaders['remember']>[1]) =>
        current().known.remember(header, account),
    },
    /** To be called before a request is relayed. What it returns is called if the main thread has accepted its password. */
    beforeRelay: () => {
      const asked = current()
      return (header: string, { name, version, generation }: KnownAccount): void => {
        // the laxer form reads every header that the other one accepts
        const given = readBasic(header, MULTI_MODEL_BASIC)
        // a check that failed meanwhile may have led to a limit
        if (asked !== current() || typeof given !== 'object' || given.name !== name) return
        const account = { version, sessionEpoch: { generation } }
        asked.known.remember(header, { name, ...account })
        // the main thread may have hashed it long ago
        if (config.get().server['authentication-timeout'] === 0)
          asked.memory.remember({ name, version: toRemembered(account), password: given.password })
      }
    },
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
  // a connection that this thread has not seen yet may be on its way
  await serving.received()
  if (kind === 'retire') {
    for (const door of doors) door.retire()
    await waitAtMost([serving.closed()], graceMs)
  }
  for (const door of doors) door.stop()
  stopFeeds()
  if (kind === 'retire') return serving.closed()
  await waitAtMost([serving.closed()], graceMs)
  await serving.drop()
}
