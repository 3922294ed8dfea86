// This node in the store's list of nodes: written when it starts and then regularly, removed when it stops.
import { setTimeout as pause } from 'node:timers/promises'
import { type Clock, nowSeconds } from '../base/clock.ts'
import { createTurns } from '../base/turns.ts'
import type { NodeState, NodeStore } from '../directory/store-port.ts'

export interface NodeRegistryDeps {
  readonly store: NodeStore
  readonly clock: Clock
  readonly instance: string
  name(): string
  describe(): Promise<NodeState>
}

export interface NodeRegistry {
  /** Writes the state of this node now, in addition to the regular turns. */
  beat(): Promise<void>
  stop(): Promise<void>
}

const EVERY_MS = 15_000

export function joinNodes(deps: NodeRegistryDeps): NodeRegistry {
  const { store, clock, instance } = deps
  const stopping = new AbortController()
  const inTurn = createTurns()
  const write = async () => {
    if (stopping.signal.aborted) return
    const state = await deps.describe()
    await store.putNode({ instance, name: deps.name(), seenAt: nowSeconds(clock), state })
  }
  const beat = () => inTurn(write)
  const run = async () => {
    while (!stopping.signal.aborted) {
      // the store logs that it is unreachable
      await beat().catch(() => {})
      await pause(EVERY_MS, undefined, { signal: stopping.signal, ref: false }).catch(() => {})
    }
  }
  const running = run()
  return {
    beat,
    async stop() {
      stopping.abort()
      await running
      await inTurn(async () => {}) // a beat that has begun would add this node again
      await store.removeNode(instance).catch(() => {})
    },
  }
}
