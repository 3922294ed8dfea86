import { type Clock, nowSeconds } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import { PRODUCT } from '../base/product.ts'
import type { Siblings, Topic } from '../base/siblings.ts'
import { keepRepeating } from '../base/sleep.ts'
import { createTurns } from '../base/turns.ts'
import type { Monitor } from '../dialects/admin-api/ports.ts'
import type { NodeRecord, NodeStore, ServingProcess } from '../directory/store-port/nodes.ts'
import { toStartError } from '../kernel/kernel.ts'
import type { CheckHealth, HealthCheck, HealthPart } from '../observe/health.ts'
import type { ReadJoined } from '../observe/joined-metrics.ts'
import type { Metrics } from '../observe/metrics.ts'
import { COUNTED, readCounts, TotalsRecorder, type TotalsStore } from '../observe/record-totals.ts'
import { keepNewest, type ServerError, type ServerErrors } from '../observe/server-errors.ts'
import { claimName, MACHINE } from './node-name.ts'
import { createNodesCheck, type NodeSecrets, toKeysHash, toNodeKeys } from './other-nodes.ts'
import { openProcesses } from './processes.ts'

/** Write to the store now what is written from time to time. */
const BEAT: Topic<undefined> = { name: 'nodes.beat' }
const WRITE_TOTALS: Topic<undefined> = { name: 'totals.write' }
/** A process that ends hands over its errors. */
const SERVER_ERRORS: Topic<readonly ServerError[], readonly ServerError[]> = { name: 'server-errors' }

export interface MonitorDeps {
  readonly store: TotalsStore & NodeStore & { readonly engine: string }
  readonly siblings: Siblings
  readonly metrics: Metrics
  readonly readMetrics: ReadJoined
  readonly serverErrors: ServerErrors
  readonly clock: Clock
  nodeName(): string
  stalenessMs(): number
  /** Whether this process accepts connections. */
  isServing(): boolean
  /** The secrets in use now. */
  secrets(): NodeSecrets
  readonly checkHealth: CheckHealth
}

/** What an operator sees of this server, and what the server tells other nodes of itself. */
export interface ServerMonitor extends Monitor {
  /** The checks of the other processes and of the other nodes; none if there can be no other. */
  readonly checks: readonly HealthCheck[]
  /** Writes the state of this node to the store now. Does nothing if the store cannot be written. */
  heartbeat(): Promise<void>
  /** Whether this was the last process of the server, once it is closed. */
  isLast(): boolean
  close(): Promise<void>
}

/** Throws if another node of its name runs. */
export async function openMonitor(deps: MonitorDeps): Promise<ServerMonitor> {
  const { store, metrics, clock, siblings, serverErrors } = deps
  const recorder = new TotalsRecorder(metrics, store, clock, siblings.isFirst)
  const describe = createDescription(deps)
  const isAlone = store.engine === 'sqlite'
  const processes = openProcesses({
    ...deps,
    startedAt: Math.floor(nowSeconds(clock) - process.uptime()),
    lagMs: deps.stalenessMs,
  })
  // before the health is checked: a node of its name would make it fail
  const claim = { describe: () => describe([], []), isAlone, maxWaitMs: 2 * SHARED_HEARTBEAT_MS }
  // the name is the server's: its first process has claimed it
  const release = siblings.isFirst() ? await claimName(store, claim).catch(throwStartError) : () => {}
  const registry = registerNode(deps, isAlone ? ALONE_HEARTBEAT_MS : SHARED_HEARTBEAT_MS, async () =>
    describe(await deps.checkHealth(), await processes.list()),
  )
  siblings.answer(BEAT, registry.heartbeat)
  const writeTotals = () => recorder.flush().catch(ignoreRefusal)
  siblings.answer(WRITE_TOTALS, writeTotals)
  siblings.answer(SERVER_ERRORS, (errors) => {
    serverErrors.add(...errors)
    return serverErrors.list()
  })
  let isLast = true
  const monitor: Monitor = {
    instance: siblings.instance,
    startedAt: describe([], []).state.startedAt,
    async listTotals(step, from) {
      await Promise.all([writeTotals(), siblings.askAll(WRITE_TOTALS, undefined)])
      return store.listTotals(step, from)
    },
    readCounts: async () => readCounts(await deps.readMetrics(COUNTED)),
    async listServerErrors() {
      const others = await siblings.askAll(SERVER_ERRORS, [])
      return keepNewest([...serverErrors.list(), ...others.flat()]).toReversed()
    },
    async listNodes() {
      await siblings.askFirst(BEAT, undefined)
      return store.listNodes()
    },
    listProcesses: processes.list,
    listCertificates: () =>
      metrics
        .read('cardea_certificate_expiry_timestamp_seconds')
        .map(({ labels, value }) => ({ listener: String(labels['listener']), expiresAt: value })),
    listSecretAges: () =>
      metrics
        .read('cardea_secret_age_seconds')
        .map(({ labels, value }) => ({ option: String(labels['option']), ageSeconds: Math.round(value) })),
  }
  return {
    ...monitor,
    checks: [...processes.checks, ...(isAlone ? [] : [createNodesCheck(store, clock, () => describe([], []))])],
    heartbeat: () => (siblings.isFirst() ? registry.heartbeat().catch(() => {}) : Promise.resolve()),
    isLast: () => isLast,
    async close() {
      await registry.stop()
      const isFollowed = await processes.leave()
      if (isFollowed) await siblings.askFirst(SERVER_ERRORS, serverErrors.list()).catch(ignoreRefusal)
      // two may close at the same time: one of them finds the row
      isLast = !isFollowed && (await store.removeNode(siblings.instance).catch(() => true))
      release()
      await recorder.stop()
    },
  }
}

function throwStartError(error: unknown): never {
  throw toStartError(error)
}

/** The health says that the store cannot be written. */
function ignoreRefusal(error: unknown): void {
  if (!(error instanceof Refusal)) throw error
}

/** A node that starts under the name of another waits for its heartbeat. */
const SHARED_HEARTBEAT_MS = 5000
const ALONE_HEARTBEAT_MS = 15_000

/** This node in the store's list of nodes: written when it starts and then regularly, by its first process. */
function registerNode({ store, siblings }: MonitorDeps, beatMs: number, describe: () => Promise<NodeRecord>) {
  let isStopped = false
  const inTurn = createTurns()
  const write = async () => {
    if (isStopped) return
    await store.putNode(await describe())
  }
  const heartbeat = () => inTurn(write)
  const stopBeating = keepRepeating(async () => {
    // the store logs that it is unreachable
    if (siblings.isFirst()) await heartbeat().catch(() => {})
    return beatMs
  })
  return {
    /** Writes the state of this node now, in addition to the regular heartbeats. */
    heartbeat,
    async stop(): Promise<void> {
      isStopped = true
      await stopBeating()
      // wait for a heartbeat in progress: it would add this node again
      await inTurn(async () => {})
    },
  }
}

function createDescription({ clock, nodeName, stalenessMs, secrets, siblings }: MonitorDeps) {
  const { instance, server } = siblings
  // one value in all processes: the time since then would be rounded differently in each
  const startedAt = Math.floor(server.startedMs / 1000)
  const openedMs = clock.nowMs()
  return (parts: readonly HealthPart[], processes: readonly ServingProcess[]): NodeRecord => ({
    instance,
    name: nodeName(),
    seenAt: nowSeconds(clock),
    state: {
      version: PRODUCT.version,
      startedAt,
      lagMs: Math.round(stalenessMs()),
      keysHash: toKeysHash(secrets()),
      problems: parts.flatMap(({ name, state, problem }) =>
        state === 'failed' ? [`${name}: ${problem?.reason}`] : [],
      ),
      openedMs,
      process: { machine: MACHINE, pid: server.pid },
      processes,
      keys: toNodeKeys(secrets()),
    },
  })
}
