// This node in the store's list of nodes: written when it starts and then regularly, removed when it stops.
import { setTimeout as pause } from 'node:timers/promises'
import { type Clock, nowSeconds } from '../base/clock.ts'
import { createTurns } from '../base/turns.ts'
import type { NodeState, NodeStore } from '../directory/store-port/nodes.ts'

export interface NodeRegistryDeps {
  readonly store: NodeStore
  readonly clock: Clock
  readonly instance: string
  name(): string
  describe(): Promise<NodeState>
}

export interface NodeRegistry {
  /** Writes the state of this node now, in addition to the regular heartbeats. */
  heartbeat(): Promise<void>
  stop(): Promise<void>
}

const HEARTBEAT_MS = 15_000

export function createNodeRegistry(deps: NodeRegistryDeps): NodeRegistry {
  const { store, clock, instance } = deps
  const stopping = new AbortController()
  const inTurn = createTurns()
  const write = async () => {
    if (stopping.signal.aborted) return
    const state = await deps.describe()
    await store.putNode({ instance, name: deps.name(), seenAt: nowSeconds(clock), state })
  }
  const heartbeat = () => inTurn(write)
  const run = async () => {
    while (!stopping.signal.aborted) {
      // the store logs that it is unreachable
      await heartbeat().catch(() => {})
      await pause(HEARTBEAT_MS, undefined, { signal: stopping.signal, ref: false }).catch(() => {})
    }
  }
  const running = run()
  return {
    heartbeat,
    async stop() {
      stopping.abort()
      await running
      // wait for a heartbeat in progress: it would add this node again
      await inTurn(async () => {})
      await store.removeNode(instance).catch(() => {})
    },
  }
}
