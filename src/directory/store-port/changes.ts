/** The version a writer expects. `absent`: no record, not even a tombstone. */
export type Expected = number | 'absent'

/** A write with a conflict has changed nothing. */
export type WriteOutcome =
  | { readonly kind: 'written'; readonly sequence: number }
  | { readonly kind: 'conflict'; readonly current: Expected }

/** `admin` is a setting of the section `admins`. */
export type ChangeKind = 'user' | 'session' | 'setting' | 'admin'

export interface Change {
  readonly sequence: number
  readonly kind: ChangeKind
  /** Name of the user or administrator, id of the session, or `section/key` of the setting. */
  readonly key: string
  readonly isDeleted: boolean
}

/**
 * A place in the history of the store. A failover that loses writes and a restored backup begin another history, which
 * reaches the same sequences again, but never the same mark.
 */
export interface Position {
  readonly sequence: number
  /** That of the latest change when the sequence was read. */
  readonly mark: string
}

/** The store as of one moment. */
export interface ChangePage {
  /** Whether the position is in the history of the store. If not, nothing read before is valid. */
  readonly isKnown: boolean
  /** After the position, in order. A change never becomes visible before an earlier one. */
  readonly changes: readonly Change[]
  /** The latest change. All changes up to it are visible. */
  readonly head: Position
}

/** The changes of the store. Of several changes of one record only the last is listed. */
export interface ChangeFeed {
  head(): Promise<Position>
  /** `alsoRead`: another position that must be in the history too. */
  changesSince(position: Position, limit: number, alsoRead?: Position): Promise<ChangePage>
  /** Called when there may be a new change, sooner than a poll; not guaranteed. Returns a function that removes the listener. */
  onWake(listener: () => void): () => void
}
