/** Of the store, the file with the checkpoint, or another destination. */
export interface AuditFigures {
  /** Records that are not written yet. */
  readonly waiting: number
  /** Records that were lost because the queue was full, since the start. */
  readonly lost: number
  /** Why the last attempt to write failed; `undefined`: it succeeded. */
  readonly problem: string | undefined
}

/** Records events about one of them. */
export interface FailureReporter {
  /** Records were lost, and now there is room again. */
  onLost(count: number): void
  onFailed(reason: string): void
  onRecovered(seconds: number): void
}
