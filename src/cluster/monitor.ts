import { randomUUID } from 'node:crypto'
import { type Clock, nowSeconds } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import { PRODUCT } from '../base/product.ts'
import { keepRepeating } from '../base/sleep.ts'
import { createTurns } from '../base/turns.ts'
import type { Monitor } from '../dialects/admin-api/ports.ts'
import type { NodeRecord, NodeStore } from '../directory/store-port/nodes.ts'
import { toStartError } from '../kernel/kernel.ts'
import type { CheckHealth, HealthPart } from '../observe/health.ts'
import type { Metrics } from '../observe/metrics.ts'
import { readCounts, TotalsRecorder, type TotalsStore } from '../observe/record-totals.ts'
import type { ServerErrors } from '../observe/server-errors.ts'
import { claimName, OWN_PROCESS } from './node-name.ts'
import { createNodesCheck, type NodeSecrets, toKeysHash, toNodeKeys } from './other-nodes.ts'

export interface MonitorDeps {
  readonly store: TotalsStore & NodeStore & { readonly engine: string }
  readonly metrics: Metrics
  readonly serverErrors: Pick<ServerErrors, 'list'>
  readonly clock: Clock
  nodeName(): string
  stalenessMs(): number
  /** The secrets in use now. */
  secrets(): NodeSecrets
  readonly checkHealth: CheckHealth
}

/** Throws if another node of its name runs. */
export async function openMonitor(deps: MonitorDeps) {
  const { store, metrics, clock } = deps
  const instance = randomUUID()
  const recorder = new TotalsRecorder(metrics, store, clock, instance)
  const describe = createDescription(instance, deps)
  const isAlone = store.engine === 'sqlite'
  // before the health is checked: a node of its name would make it fail
  const claim = { describe: () => describe([]), isAlone, maxWaitMs: 2 * SHARED_HEARTBEAT_MS }
  const release = await claimName(store, claim).catch((error) => {
    throw toStartError(error)
  })
  const beatMs = isAlone ? ALONE_HEARTBEAT_MS : SHARED_HEARTBEAT_MS
  const registry = registerNode(instance, store, beatMs, async () => describe(await deps.checkHealth()))
  const monitor: Monitor = {
    instance,
    async listTotals(step, from) {
      await recorder.flush().catch(ignoreRefusal)
      return store.listTotals(step, from)
    },
    readCounts: () => readCounts(metrics),
    listServerErrors: deps.serverErrors.list,
    async listNodes() {
      await registry.heartbeat()
      return store.listNodes()
    },
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
    /** The checks of the other nodes; none if there can be no other. */
    checks: isAlone ? [] : [createNodesCheck(store, clock, () => describe([]))],
    /** Writes the state of this node to the store now. Does nothing if the store cannot be written. */
    heartbeat: () => registry.heartbeat().catch(() => {}),
    async close() {
      await registry.stop()
      release()
      await recorder.stop()
    },
  }
}

/** The health says that the store cannot be written. */
function ignoreRefusal(error: unknown): void {
  if (!(error instanceof Refusal)) throw error
}

/** A node that starts under the name of another waits for its heartbeat. */
const SHARED_HEARTBEAT_MS = 5000
const ALONE_HEARTBEAT_MS = 15_000

/** This node in the store's list of nodes: written when it starts and then regularly, removed when it stops. */
function registerNode(instance: string, store: NodeStore, beatMs: number, describe: () => Promise<NodeRecord>) {
  let isStopped = false
  const inTurn = createTurns()
  const write = async () => {
    if (isStopped) return
    await store.putNode(await describe())
  }
  const heartbeat = () => inTurn(write)
  const stopBeating = keepRepeating(async () => {
    // the store logs that it is unreachable
    await heartbeat().catch(() => {})
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
      await store.removeNode(instance).catch(() => {})
    },
  }
}

function createDescription(instance: string, { clock, nodeName, stalenessMs, secrets }: MonitorDeps) {
  const startedAt = Math.floor(nowSeconds(clock) - process.uptime())
  const openedMs = clock.nowMs()
  return (parts: readonly HealthPart[]): NodeRecord => ({
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
      process: OWN_PROCESS,
      keys: toNodeKeys(secrets()),
    },
  })
}
