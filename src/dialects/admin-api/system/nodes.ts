import { nowSeconds, SYSTEM_CLOCK } from '../../../base/clock.ts'
import type { NodeRecord } from '../../../directory/store-port/nodes.ts'
import { operation, requireServer } from '../operation.ts'
import { NODES } from '../schemas/system.ts'

export const NODE_OPERATIONS = {
  'node.list': operation('GET /nodes', 'administrator', {
    summary: 'List the nodes that use this store',
    reply: NODES,
    async run(deps) {
      const { monitor } = requireServer(deps)
      const nodes = await monitor.listNodes()
      const now = nowSeconds(SYSTEM_CLOCK)
      return { now, nodes: nodes.map((node) => showNode(node, { now, own: monitor.instance })) }
    },
  }),
}

/** A node that has not been seen for longer does not run, or cannot reach the store. */
const LOST_SECONDS = 60

export const isLost = ({ seenAt }: Pick<NodeRecord, 'seenAt'>, now: number): boolean => now - seenAt > LOST_SECONDS

export const isNodeReady = (node: NodeRecord, now: number): boolean =>
  node.state.problems.length === 0 && !isLost(node, now)

function showNode(node: NodeRecord, { now, own }: { now: number; own: string }) {
  const { instance, name, seenAt, state } = node
  const { problems, ...shown } = state
  return {
    name,
    instance,
    ...shown,
    seenAt,
    isReady: isNodeReady(node, now),
    isLost: isLost(node, now),
    isThisNode: instance === own,
    problems,
  }
}
