import { createHmac, randomUUID } from 'node:crypto'
import { type Clock, nowSeconds } from '../base/clock.ts'
import { Refusal } from '../base/errors.ts'
import { PRODUCT } from '../base/product.ts'
import { keepRepeating } from '../base/sleep.ts'
import { createTurns } from '../base/turns.ts'
import type { Monitor } from '../dialects/admin-api/ports.ts'
import type { NodeState, NodeStore } from '../directory/store-port/nodes.ts'
import type { CheckHealth, HealthPart } from '../observe/health.ts'
import type { Metrics } from '../observe/metrics.ts'
import { readCounts, TotalsRecorder, type TotalsStore } from '../observe/record-totals.ts'
import type { ServerErrors } from '../observe/server-errors.ts'

export interface MonitorDeps {
  readonly store: TotalsStore & NodeStore
  readonly metrics: Metrics
  readonly serverErrors: Pick<ServerErrors, 'list'>
  readonly clock: Clock
  nodeName(): string
  stalenessMs(): number
  /** The secrets in use now. */
  secrets(): NodeSecrets
  readonly checkHealth: CheckHealth
}

export interface NodeSecrets {
  /** Cardea's own key, shared by the nodes of a store. */
  readonly ownKey: Uint8Array
  /** One for each key ring. */
  readonly ringVersions: readonly string[]
  readonly cookieSecret: string
}

export function createMonitor(deps: MonitorDeps) {
  const { store, metrics, clock } = deps
  const instance = randomUUID()
  const recorder = new TotalsRecorder(metrics, store, clock, instance)
  const startedAt = Math.floor(nowSeconds(clock) - process.uptime())
  const registry = registerNode(instance, deps, async () => describeNode(deps, startedAt, await deps.checkHealth()))
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
    /** Writes the state of this node to the store now. Does nothing if the store cannot be written. */
    heartbeat: () => registry.heartbeat().catch(() => {}),
    async close() {
      await registry.stop()
      await recorder.stop()
    },
  }
}

/** The health says that the store cannot be written. */
function ignoreRefusal(error: unknown): void {
  if (!(error instanceof Refusal)) throw error
}

const HEARTBEAT_MS = 15_000

/** This node in the store's list of nodes: written when it starts and then regularly, removed when it stops. */
function registerNode(instance: string, { store, clock, nodeName }: MonitorDeps, describe: () => Promise<NodeState>) {
  let isStopped = false
  const inTurn = createTurns()
  const write = async () => {
    if (isStopped) return
    const state = await describe()
    await store.putNode({ instance, name: nodeName(), seenAt: nowSeconds(clock), state })
  }
  const heartbeat = () => inTurn(write)
  const stopBeating = keepRepeating(async () => {
    // the store logs that it is unreachable
    await heartbeat().catch(() => {})
    return HEARTBEAT_MS
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

const describeNode = (
  { stalenessMs, secrets }: MonitorDeps,
  startedAt: number,
  parts: readonly HealthPart[],
): NodeState => ({
  version: PRODUCT.version,
  startedAt,
  lagMs: Math.round(stalenessMs()),
  keysHash: toKeysHash(secrets()),
  problems: parts.flatMap(({ name, state, problem }) => (state === 'failed' ? [`${name}: ${problem?.reason}`] : [])),
})

/** Equal on nodes that have the same secrets. Keyed, so that it does not help to guess a weak cookie secret. */
function toKeysHash({ ownKey, ringVersions, cookieSecret }: NodeSecrets): string {
  const hash = createHmac('sha256', ownKey)
  for (const version of ringVersions) hash.update(`ring:${version};`)
  hash.update(`cookies:${cookieSecret}`)
  return hash.digest('hex').slice(0, 16)
}
