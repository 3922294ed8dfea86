/** A running server, as it last described itself. */
export interface NodeRecord {
  /** Identifies one start of the server. */
  readonly instance: string
  readonly name: string
  /** Seconds since the epoch. */
  readonly seenAt: number
  readonly state: NodeState
}

export interface NodeState {
  readonly version: string
  /** Seconds since the epoch. */
  readonly startedAt: number
  /** The age of what it knows of changes that other nodes made. */
  readonly lagMs: number
  /** Equal on nodes that have the same secrets in the same order. */
  readonly keysHash: string
  /** What does not work; empty: it is ready. */
  readonly problems: readonly string[]
  /** When it opened the store, in milliseconds since the epoch. Nodes of earlier versions leave out this and the rest. */
  readonly openedMs?: number
  /** The process that an operator sends signals to. */
  readonly process?: { readonly machine: string; readonly pid: number }
  /** The processes that serve requests, by place. */
  readonly processes?: readonly ServingProcess[]
  readonly keys?: NodeKeys
}

export interface ServingProcess {
  /** From 1. No other process of the server has the same. */
  readonly place: number
  readonly pid: number
  /** Seconds since the epoch. */
  readonly startedAt: number
  readonly memoryBytes: number
  /** The age of what it knows of changes that others made. */
  readonly lagMs: number
}

/** Digests of keys. */
export interface NodeKeys {
  /** Digests of the secrets that sign its sessions and tokens. */
  readonly signs: readonly string[]
  /** Digests of the secrets that it verifies them with. */
  readonly accepts: readonly string[]
}

/** A node that has not been seen for longer does not run, or cannot reach the store. */
export const LOST_SECONDS = 60

export interface NodeStore {
  /** Also deletes earlier starts of the same node, and every node that was not seen for a day. */
  putNode(node: NodeRecord): Promise<void>
  /** As `putNode`, unless another node of its name has been seen lately: then returns that one. */
  claimNode(node: NodeRecord): Promise<NodeRecord | undefined>
  /** Whether it was there. */
  removeNode(instance: string): Promise<boolean>
  /** By name. */
  listNodes(): Promise<readonly NodeRecord[]>
}
