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

/** The changes of the store. Of several changes of one record only the last is listed. */
export interface ChangeFeed {
  /** The sequence of the latest change. All changes up to it are visible. */
  sequence(): Promise<number>
  /** In order. A change never becomes visible before an earlier one. */
  changesSince(sequence: number, limit: number): Promise<readonly Change[]>
  /** Called when there may be a new change, sooner than a poll; not guaranteed. Returns a function that removes the listener. */
  onWake(listener: () => void): () => void
}
