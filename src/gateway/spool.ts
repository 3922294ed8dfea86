import { Refusal } from '../base/errors.ts'

export interface SpoolLimits {
  /** Of one body. */
  readonly bodyBytes: number
  /** Of all that are put together at once. */
  readonly totalBytes: number
}

/** What one body takes of the room there is for all. */
export interface SpoolShare {
  /** Throws `spool_full` where there is no room for so much more. */
  take(bytes: number): void
  /** Gives back everything taken. */
  release(): void
}

const RETRY_SECONDS = 1

/** The room for bodies that are put together: clients that send slowly must not fill the memory between them. */
export function createSpool(): (totalBytes: number) => SpoolShare {
  let taken = 0
  return (totalBytes) => {
    let own = 0
    return {
      take(bytes) {
        if (taken + bytes > totalBytes) throw new Refusal('spool_full', { retryAfterSeconds: RETRY_SECONDS })
        taken += bytes
        own += bytes
      },
      release() {
        taken -= own
        own = 0
      },
    }
  }
}
