/**
 * Work that follows a write and is stored in its transaction, so that it is done even if this process ends at once. A job
 * is done at least once: what it does must bear repetition.
 */
export interface NewJob {
  /** A row of the table of job kinds. */
  readonly kind: string
  /** Jobs of one kind with one key are done one after the other, in the order in which they were added. */
  readonly key: string
  /** What the kind needs to know, in a form of its own. No secret: it is in the store and its backups as it is. */
  readonly payload: string
}

/**
 * No job waits for longer. One that is due later was postponed or claimed while the store's clock was ahead, and is due
 * at once. A minute more than the pauses, because the clocks of two nodes may differ.
 */
export const MAX_JOB_PAUSE_MS = 15 * 60_000
export const MAX_JOB_WAIT_MS = MAX_JOB_PAUSE_MS + 60_000

export interface Job extends NewJob {
  readonly id: number
  /** With the one that begins now. */
  readonly attempts: number
  /** When the first attempt began, in milliseconds since the epoch. */
  readonly begunMs: number
}

export interface JobClaim {
  readonly kind: string
  /** Identifies this claim: without it a job is neither finished nor postponed. */
  readonly claim: string
  readonly nowMs: number
  /** From then on others may claim the job: its process has ended, or does not respond. */
  readonly untilMs: number
  readonly limit: number
}

/** The jobs of one kind that are not done yet. */
export interface JobCount {
  readonly kind: string
  readonly count: number
  /** How many of them have failed at least once. */
  readonly failed: number
  /** When the first attempt of the oldest one that has failed began, in milliseconds since the epoch. */
  readonly failedSinceMs: number
  /** Why the last attempt of one of them failed. */
  readonly problem: string
}

export interface JobStore {
  addJobs(jobs: readonly NewJob[]): Promise<void>
  hasJob(kind: string, key: string): Promise<boolean>
  /** The time from which on the next job may be claimed; `undefined`: there is no job. */
  findNextJobMs(): Promise<number | undefined>
  /** Jobs that are due, the first of each key; of several callers at the same time one gets each. */
  claimJobs(claim: JobClaim): Promise<readonly Job[]>
  finishJob(id: number, claim: string): Promise<void>
  postponeJob(id: number, claim: string, next: { readonly dueMs: number; readonly problem: string }): Promise<void>
  /** Makes the jobs due whose claims begin so: those of a process that has ended. Empty: all that are claimed. */
  releaseJobs(claims: string): Promise<void>
  countJobs(): Promise<readonly JobCount[]>
}
