import { LOST_SECONDS, type NodeRecord, type NodeState, type NodeStore } from '../../directory/store-port/nodes.ts'
import { type Engine, numberOf, one, type Row, type StoreSteps, textOf } from '../engine.ts'
import { requireKey } from '../limits.ts'
import { STATEMENTS } from '../statements.ts'

const FORGOTTEN_SECONDS = 86_400

export const createNodeStore = (engine: Engine): NodeStore => ({
  async putNode(node) {
    requireNames(node)
    await engine.transact(() => put(node))
  },
  async claimNode(node) {
    requireNames(node)
    return engine.transact(function* () {
      // nodes that start at the same time take turns
      yield one(STATEMENTS.lockCounters)
      const nodes = (yield one(STATEMENTS.listNodes)).map(readNode)
      const other = nodes.find(
        ({ instance, name, seenAt }) =>
          instance !== node.instance && name === node.name && node.seenAt - seenAt <= LOST_SECONDS,
      )
      if (!other) yield* put(node)
      return other
    })
  },
  async removeNode(instance) {
    return (await engine.ask(one(STATEMENTS.removeNode, instance))).length > 0
  },
  async listNodes() {
    return (await engine.ask(one(STATEMENTS.listNodes))).map(readNode)
  },
})

function requireNames({ instance, name }: NodeRecord): void {
  requireKey(instance, 'an instance')
  requireKey(name, 'the name of a node')
}

function* put({ instance, name, seenAt, state }: NodeRecord): StoreSteps<void> {
  yield one(STATEMENTS.putNode, instance, name, seenAt, JSON.stringify(state))
  // one of the same name is the same node, which was started again
  yield one(STATEMENTS.removeLostNodes, instance, name, seenAt - LOST_SECONDS, seenAt - FORGOTTEN_SECONDS)
}

export const readNode = (row: Row): NodeRecord => ({
  instance: textOf(row, 'instance'),
  name: textOf(row, 'name'),
  seenAt: numberOf(row, 'seen_at'),
  // only putNode writes this column
  state: JSON.parse(textOf(row, 'state')) as NodeState,
})
