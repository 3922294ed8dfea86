import type { NodeRecord, NodeState, NodeStore } from '../../directory/store-port/nodes.ts'
import { type Engine, numberOf, one, type Row, textOf } from '../engine.ts'
import { requireKey } from '../limits.ts'
import { STATEMENTS } from '../statements.ts'

/** A node that has not been seen for this long and has a newer start is the same node, started again. */
const LOST_SECONDS = 60
const FORGOTTEN_SECONDS = 86_400

export const createNodeStore = (engine: Engine): NodeStore => ({
  async putNode({ instance, name, seenAt, state }) {
    requireKey(instance, 'an instance')
    requireKey(name, 'the name of a node')
    await engine.transact(function* () {
      yield one(STATEMENTS.putNode, instance, name, seenAt, JSON.stringify(state))
      yield one(STATEMENTS.removeLostNodes, instance, name, seenAt - LOST_SECONDS, seenAt - FORGOTTEN_SECONDS)
    })
  },
  async removeNode(instance) {
    await engine.ask(one(STATEMENTS.removeNode, instance))
  },
  async listNodes() {
    return (await engine.ask(one(STATEMENTS.listNodes))).map(readNode)
  },
})

export const readNode = (row: Row): NodeRecord => ({
  instance: textOf(row, 'instance'),
  name: textOf(row, 'name'),
  seenAt: numberOf(row, 'seen_at'),
  // only putNode writes this column
  state: JSON.parse(textOf(row, 'state')) as NodeState,
})
