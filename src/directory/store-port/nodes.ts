/** A running process, as it last described itself. */
export interface NodeRecord {
  /** Identifies one start of the process. */
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
}

export interface NodeStore {
  /** Also deletes earlier starts of the same node, and every node that was not seen for a day. */
  putNode(node: NodeRecord): Promise<void>
  removeNode(instance: string): Promise<void>
  /** By name. */
  listNodes(): Promise<readonly NodeRecord[]>
}
