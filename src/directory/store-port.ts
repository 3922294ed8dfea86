/**
 * What the directory asks of a store. Every operation is whole: it is there entirely or not at all, and when it has
 * answered, it is durable. A store that cannot be reached throws a `Refusal` with the code `store_unavailable`; a
 * write that cannot be stored (U+0000, half a surrogate pair, a key of kilobytes) one with `bad_request`.
 */
import type { HashWork } from '../passwords/hash-work.ts'
import type { User, UserRecord } from './user.ts'

/** A record, and the change that wrote it. The sequence is the version: it is new with every write. */
export interface Stored<R extends UserRecord = UserRecord> {
  readonly sequence: number
  readonly record: R
}

/** The version a writer has seen. `absent`: there was nothing, not even a tombstone. */
export type Expected = number | 'absent'

export interface UserWrite {
  readonly expected: Expected
  readonly record: UserRecord
}

/** A conflict has changed nothing. */
export type WriteOutcome =
  | { readonly kind: 'written'; readonly sequence: number }
  | { readonly kind: 'conflict'; readonly current: Expected }

export interface Bound {
  readonly name: string
  readonly isInclusive: boolean
}

/** Names are ordered by their UTF-8 bytes. `from` is where the listing starts, so with `descending` the higher end. */
export interface UserRange {
  readonly from?: Bound
  readonly to?: Bound
  readonly descending?: boolean
  /** 1 to 10 000. Fewer users than that: the end is reached. */
  readonly limit: number
}

export interface UserStore {
  /** A deleted user is found as its tombstone. */
  findUser(name: string): Promise<Stored | undefined>
  /** One page, without tombstones. */
  listUsers(range: UserRange): Promise<readonly Stored<User>[]>
  /** How many users there are, without tombstones. */
  countUsers(): Promise<number>
  writeUser(write: UserWrite): Promise<WriteOutcome>
  /**
   * All writes in one transaction, each with its own outcome: a conflict of one does not keep the others out. Some
   * hundred at a time: the whole directory waits meanwhile.
   */
  importUsers(writes: readonly UserWrite[]): Promise<readonly WriteOutcome[]>
  /** For each unit the largest amount of work any user's password takes. Found without reading all users. */
  listHashWork(): Promise<readonly HashWork[]>
}

export interface EndedSession {
  readonly id: string
  readonly name: string
  /** Seconds since the epoch; no copy of the session is accepted from then on anyway. */
  readonly expiresAt: number
}

export interface EndedCount {
  readonly sequence: number
  /** How many ended sessions of the name the store has now. */
  readonly count: number
}

export interface SessionStore {
  /** Ending a session again is no error; the later expiry counts. */
  endSession(session: EndedSession): Promise<EndedCount>
  /** Sessions that ended after this change, in order of their ending: 0 to begin with, then page by page. */
  listEndedSessions(after: number, limit: number): Promise<readonly (EndedSession & { readonly sequence: number })[]>
  /** The ids of a name's ended sessions. */
  listEndedIds(name: string): Promise<readonly string[]>
  /** Forgets a name's sessions that ended up to this change, because something else ends all of them. */
  forgetEndedSessions(name: string, upTo: number): Promise<void>
  /** Forgets sessions that have expired. Gives how many. */
  purgeEnded(nowSeconds: number): Promise<number>
}

export interface CodeStore {
  /**
   * Marks the one-time code of this time step, and every earlier one, as used. `false`: the user has used this step or
   * a later one already, here or at another node, and nothing was changed.
   */
  useCodeStep(name: string, step: number): Promise<boolean>
}

/** Failed password checks of one counter under one key. */
export interface Failure {
  readonly counter: 'lock' | 'account' | 'peer'
  readonly key: string
  readonly count: number
}

/** Failed password checks that a node counted within a moment. */
export interface FailureBatch {
  /** Which node; unique to each start of one. */
  readonly node: string
  readonly atMs: number
  /** Seconds since the epoch; from then on the batch says nothing any more. */
  readonly expiresAt: number
  readonly failures: readonly Failure[]
}

export interface FailureList {
  readonly batches: readonly (FailureBatch & { readonly sequence: number })[]
  /** The latest batch; its numbers are its own, and no change of the directory. */
  readonly sequence: number
}

export interface FailureStore {
  addFailures(batch: FailureBatch): Promise<void>
  /** Batches after this one in their order: 0 to begin with, then page by page. */
  listFailures(after: number, limit: number): Promise<FailureList>
  /** Removes batches that have expired. Gives how many. */
  purgeFailures(nowSeconds: number): Promise<number>
}

/** One entry of the run-time layer of the configuration. */
export interface Setting {
  readonly section: string
  readonly key: string
  /** `undefined`: the mark of a deleted administrator. Other deleted settings are not listed. */
  readonly text: string | undefined
  readonly changedAt: number
  readonly sequence: number
}

export interface SettingList {
  readonly settings: readonly Setting[]
  /** The change up to which this list is complete. */
  readonly sequence: number
}

export interface SettingChange {
  readonly section: string
  readonly key: string
  readonly nowSeconds: number
  /** Write only if nothing in this section has changed after that list. Left out: write in any case. */
  readonly unchangedSince?: number
}

export interface SettingStore {
  listSettings(): Promise<SettingList>
  setSetting(setting: SettingChange & { readonly text: string }): Promise<WriteOutcome>
  /** Back to the layers below; of an administrator (section `admins`) a mark stays, whatever the layers below say. */
  unsetSetting(setting: SettingChange): Promise<WriteOutcome>
}

/** `admin` is a setting of the section `admins`. */
export type ChangeKind = 'user' | 'session' | 'setting' | 'admin'

export interface Change {
  readonly sequence: number
  readonly kind: ChangeKind
  /** Name of the user or administrator, id of the session, or `section/key` of the setting. */
  readonly key: string
  readonly isDeleted: boolean
}

/** Follows what changed. Of several changes of one thing only the last is told. */
export interface ChangeFeed {
  /** The latest change. Whoever sees this number sees every change up to it. */
  sequence(): Promise<number>
  /** In order; never one while an earlier one is still to come. */
  changesSince(sequence: number, limit: number): Promise<readonly Change[]>
  /** Calls when there may be something new, earlier than a poll would tell; not to be relied on. Returns the end of it. */
  onWake(listener: () => void): () => void
}

export interface Store extends UserStore, SessionStore, CodeStore, FailureStore, SettingStore, ChangeFeed {
  /** For logs and health. */
  readonly engine: string
  /** Waits for what is under way. After it every call is refused. */
  close(): Promise<void>
}
