/** The state of this node. */
export interface Health {
  /** Whether all parts work. */
  readonly isReady: boolean
  /** What Cardea cannot work without. */
  readonly parts: readonly PartStatus[]
  readonly product: string
  readonly version: string
  readonly pid: number
  readonly store: string
  /** The age of this node's knowledge of changes that other nodes made. */
  readonly stalenessMs: number
  /** Empty where no upstream is configured. */
  readonly upstreams: readonly UpstreamStatus[]
  readonly node: string
  /** When the process started, in seconds since the epoch. */
  readonly startedAt: number
  /** The URLs of all listeners. */
  readonly listening: readonly string[]
  /** Changed options that take effect at the next start. */
  readonly needRestart: readonly string[]
  /** Warnings about the configuration. */
  readonly warnings: readonly string[]
}

export interface PartStatus {
  readonly name: string
  readonly isWorking: boolean
  readonly problem: string | null
}

/** Whether the upstream of a door can be used, and what to change if it cannot. */
export interface UpstreamStatus {
  readonly door: string
  readonly isReady: boolean
  readonly findings: readonly {
    readonly upstream: string
    readonly problem: string
    readonly reason: string
    readonly check: string
  }[]
}

export interface ReloadResult {
  /** `false`: the configuration has problems, and the previous one is kept. */
  readonly applied: boolean
  readonly problems: readonly string[]
  readonly changed: readonly string[]
  readonly needRestart: readonly string[]
  /** The options whose files had other secrets than before, each with their number. */
  readonly secrets: readonly string[]
}
