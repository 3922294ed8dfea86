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

/** The oldest first. */
export const keepNewest = (errors: readonly ServerError[]): readonly ServerError[] =>
  errors.toSorted((one, other) => one.time - other.time).slice(-MAX_KEPT)

export type ServerErrors = ReturnType<typeof createServerErrors>

export function createServerErrors() {
  let kept: readonly ServerError[] = []
  return {
    /** Those of another process arrive later than they happened. */
    add(...errors: readonly ServerError[]): void {
      kept = keepNewest([...kept, ...errors])
    },
    /** The newest first. */
    list: (): readonly ServerError[] => kept.toReversed(),
  }
}
