import { nowSeconds } from '../../../base/clock.ts'
import { ERRORS, Refusal } from '../../../base/errors.ts'
import { LOST_SECONDS, type NodeRecord } from '../../../directory/store-port/nodes.ts'
import { addCounts, type Counts } from '../../../observe/record-totals.ts'
import type { EventKind } from '../../../observe/security-event-table.ts'
import { RANGES, startOf, sumOf, toSteps, toTotalSeries } from '../../../observe/total-series.ts'
import { type OperationDeps, operation, requireServer } from '../operation.ts'
import type { RunningServer } from '../ports.ts'
import { object } from '../schemas/schema.ts'
import {
  NODES,
  OVERVIEW,
  RANGE,
  type RecordedCommandView,
  SERVER_ERRORS,
  type ServerErrorView,
} from '../schemas/system.ts'

export const OVERVIEW_OPERATIONS = {
  overview: operation('GET /overview', 'administrator', {
    summary: 'Show sign-ins, requests and health',
    query: object({ 'range?': RANGE }),
    reply: OVERVIEW,
    async run(deps, { query }) {
      const { range: name = '1h' } = query
      const range = RANGES[name]
      const now = nowSeconds(deps.clock)
      const from = startOf(range, now)
      const server = requireServer(deps)
      const stored = await server.monitor.listTotals(range.stored, from).catch(listNone)
      const steps = toSteps(stored, range, from)
      return {
        range: name,
        from,
        now,
        stepSeconds: range.stepSeconds,
        series: toTotalSeries(steps),
        totals: toSums(steps.reduce<Counts>((sum, counts) => addCounts(sum, counts ?? {}), {})),
        ...countLocked(deps),
        administrators: deps.directory.listAdministrators().length,
        health: { ...(await showHealth(server, now)), ...(await findCommands(deps)) },
      }
    },
  }),
}

/** The health in the same response is most needed while the store cannot be read. */
function listNone(error: unknown): readonly never[] {
  if (error instanceof Refusal) return []
  throw error
}

/** Locked names that no account has are counted separately, because there is no user to unlock. */
function countLocked({ limits }: OperationDeps) {
  const lockedAccounts = limits.listNames().length
  return { lockedAccounts, refusedUnknownNames: Math.max(limits.countLocked() - lockedAccounts, 0) }
}

export const toSums = (counts: Counts) => ({
  signIns: sumOf(counts, 'signIns/'),
  refusals: sumOf(counts, 'refusals/'),
  requests: sumOf(counts, 'requests/document/') + sumOf(counts, 'requests/multi-model/'),
  serverErrors: sumOf(counts, 'requests/', '/5xx'),
  lockouts: sumOf(counts, 'lockouts/'),
  revokedSessions: sumOf(counts, 'revocations'),
  signOuts: sumOf(counts, 'signOuts'),
})

async function showHealth({ monitor, health }: RunningServer, now: number) {
  const { node, store, isReady, parts, upstreams, warnings, needRestart } = await health()
  return {
    node,
    store,
    isReady,
    parts,
    upstreams,
    nodes: await countNodes(monitor, now),
    certificates: monitor.listCertificates(),
    secrets: monitor.listSecretAges(),
    warnings,
    needRestart,
  }
}

async function findCommands({ audit }: OperationDeps) {
  const find = async (event: EventKind): Promise<RecordedCommandView | null> => {
    const [record] = await audit.list({ event, order: 'newest', limit: 1 }).catch(listNone)
    if (!record) return null
    const { records, findings } = record.fields
    const found = typeof findings === 'number' ? { findings } : {}
    return { at: Math.floor(record.time / 1000), records: Number(records), ...found }
  }
  return { lastBackup: await find('store.saved'), lastVerification: await find('audit.verified') }
}

/** `null`: the store cannot be read. */
async function countNodes(monitor: RunningServer['monitor'], now: number) {
  const nodes = await monitor.listNodes().catch(() => undefined)
  return nodes ? { total: nodes.length, ready: nodes.filter((node) => isNodeReady(node, now)).length } : null
}

export const NODE_OPERATIONS = {
  'node.list': operation('GET /nodes', 'administrator', {
    summary: 'List the nodes that use this store',
    reply: NODES,
    async run(deps) {
      const { monitor } = requireServer(deps)
      const nodes = await monitor.listNodes()
      const now = nowSeconds(deps.clock)
      return { now, nodes: nodes.map((node) => showNode(node, monitor.instance, now)) }
    },
  }),
  'server-error.list': operation('GET /server-errors', 'administrator', {
    summary: 'List the last responses of this node with a status of 5xx, without those to probes of load balancers',
    reply: SERVER_ERRORS,
    async run(deps) {
      const { monitor, health } = requireServer(deps)
      const errors = (await monitor.listServerErrors()).map((error) => ({ ...error, ...toReason(error) }))
      return { node: (await health()).node, errors }
    },
  }),
}

function toReason({ error }: Pick<ServerErrorView, 'error'>): Pick<ServerErrorView, 'reason'> {
  const rows: Readonly<Record<string, { readonly text: string }>> = ERRORS
  const row = rows[error ?? '']
  return row ? { reason: row.text } : {}
}

const isLost = ({ seenAt }: Pick<NodeRecord, 'seenAt'>, now: number): boolean => now - seenAt > LOST_SECONDS

const isNodeReady = (node: NodeRecord, now: number): boolean => node.state.problems.length === 0 && !isLost(node, now)

function showNode(node: NodeRecord, own: string, now: number) {
  const { instance, name, seenAt, state } = node
  const { version, startedAt, lagMs, keysHash, problems, processes = [] } = state
  return {
    name,
    instance,
    version,
    startedAt,
    lagMs,
    keysHash,
    seenAt,
    isReady: isNodeReady(node, now),
    isLost: isLost(node, now),
    isThisNode: instance === own,
    problems,
    processes,
  }
}
