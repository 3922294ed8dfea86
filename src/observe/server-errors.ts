// The last responses with a status of 5xx, in memory. An administrator finds the request in the log by its id.

export interface ServerError {
  /** Milliseconds since the epoch. */
  readonly time: number
  /** Id of the request. */
  readonly request: string
  readonly door: string
  readonly method: string
  /** Without the query, which may hold a token. */
  readonly path: string
  readonly status: number
  /** A code of Cardea. Absent if the upstream sent the response. */
  readonly error?: string
}

const MAX_KEPT = 100

export type ServerErrors = ReturnType<typeof createServerErrors>

export function createServerErrors() {
  let kept: readonly ServerError[] = []
  return {
    /** Those of a worker thread arrive later than they happened. */
    add(...errors: readonly ServerError[]): void {
      kept = [...kept, ...errors].toSorted((one, other) => one.time - other.time).slice(-MAX_KEPT)
    },
    /** The newest first. */
    list: (): readonly ServerError[] => kept.toReversed(),
    /** All of them, which are forgotten here: a worker thread hands them to the main thread. */
    take(): readonly ServerError[] {
      const taken = kept
      kept = []
      return taken
    },
  }
}
