/**
 * The store as the directory needs it. Every operation is atomic, and durable when it resolves. If the store cannot be
 * reached, it throws a `Refusal` with the code `store_unavailable`; if a value cannot be stored (U+0000, half a surrogate
 * pair, a key of kilobytes), one with `bad_request`; if the stored record of a user is damaged, one with
 * `record_damaged`. Lists of users leave out damaged records.
 */

import type { AuditStore } from '../observe/audit/audit-store.ts'
import type { TotalsStore } from '../observe/totals.ts'
import type { HashWork } from '../passwords/hash-work.ts'
import type { User, UserRecord } from './user.ts'

/** A record and the sequence of its last write, which serves as its version. */
export interface Stored<R extends UserRecord = UserRecord> {
  readonly sequence: number
  readonly record: R
}

/** The version a writer expects. `absent`: no record, not even a tombstone. */
export type Expected = number | 'absent'

export interface UserWrite {
  readonly expected: Expected
  readonly record: UserRecord
}

/** A write with a conflict has changed nothing. */
export type WriteOutcome =
  | { readonly kind: 'written'; readonly sequence: number }
  | { readonly kind: 'conflict'; readonly current: Expected }

export interface Bound {
  readonly name: string
  readonly isInclusive: boolean
}

/** Names are ordered by their UTF-8 bytes. `from` is where the list starts: with `descending`, the higher end. */
export interface UserRange {
  readonly from?: Bound
  readonly to?: Bound
  readonly descending?: boolean
  /** 1 to 10 000. A shorter page is the last one. */
  readonly limit: number
}

export interface UserStore {
  /** A deleted user is found as its tombstone. */
  findUser(name: string): Promise<Stored | undefined>
  /** One page, without tombstones. */
  listUsers(range: UserRange): Promise<readonly Stored<User>[]>
  /** Without tombstones. */
  countUsers(): Promise<number>
  writeUser(write: UserWrite): Promise<WriteOutcome>
  /**
   * All writes in one transaction, each with its own outcome: a conflict does not affect the others. At most a few
   * hundred, because every other write waits.
   */
  importUsers(writes: readonly UserWrite[]): Promise<readonly WriteOutcome[]>
  /** For each unit the largest amount of work of any user's password. Does not read all users. */
  listHashWork(): Promise<readonly HashWork[]>
}

/** `disabled` has only users that cannot sign in, `expires` only those with an expiry. */
export type SearchKind = 'name' | 'role' | 'disabled' | 'expires'

export interface SearchEntry {
  readonly kind: SearchKind
  readonly key: string
}

/** All entries of one kind with keys from the first to the last, both included. */
export interface SearchRange {
  readonly kind: SearchKind
  readonly from: string
  readonly to: string
}

/** A shorter page is the last one. Fixed, so that PostgreSQL plans the query for it. */
export const SEARCH_ROWS = 200

export interface UserSearchStore {
  /** One page of the users with an entry in the range behind this one, ordered by key and name. */
  searchUsers(range: SearchRange, after: SearchPosition): Promise<readonly FoundUser[]>
}

export interface SearchPosition {
  readonly key: string
  readonly name: string
}

export interface FoundUser {
  readonly key: string
  readonly record: User
}

export interface EndedSession {
  readonly id: string
  readonly name: string
  /** Seconds since the epoch; from then on no copy of the session is accepted anyway. */
  readonly expiresAt: number
}

export interface EndedCount {
  readonly sequence: number
  /** The number of ended sessions of the name in the store. */
  readonly count: number
}

export interface SessionStore {
  /** May be called again for the same session; the later expiry counts. Deletes its record. */
  endSession(session: EndedSession): Promise<EndedCount>
  /** One page of the sessions that ended after this sequence, in order. 0 for the first page. */
  listEndedSessions(after: number, limit: number): Promise<readonly (EndedSession & { readonly sequence: number })[]>
  /** The ids of a name's ended sessions. */
  listEndedIds(name: string): Promise<readonly string[]>
  /** Deletes a name's records up to this sequence. The session epoch must have revoked the sessions already. */
  forgetEndedSessions(name: string, upTo: number): Promise<void>
  /** Deletes expired sessions. Returns how many. */
  purgeEnded(nowSeconds: number): Promise<number>
}

/** One session as lists of sessions show it. Whether it is live is decided elsewhere; no request reads this record. */
export interface SessionRecord {
  readonly id: string
  readonly name: string
  /** The generation of the account's session epoch; `undefined`: opened with a token of another issuer. */
  readonly generation: number | undefined
  /** The door or listener that opened it. */
  readonly door: string
  /** Seconds since the epoch, like the next two. */
  readonly createdAt: number
  /** Exact to the minute. */
  readonly seenAt: number
  /** The session is over then, unless it is used before. */
  readonly expiresAt: number
  /** Address of the client that used it last. Empty on a Unix socket. */
  readonly peer: string
  readonly userAgent: string
}

export interface SessionRecordRange {
  /** Only sessions of this name. */
  readonly name?: string
  /** The last record of the previous page. */
  readonly after?: Pick<SessionRecord, 'createdAt' | 'id'>
  /** 1 to 10 000. A shorter page is the last one. */
  readonly limit: number
}

/** How many records of one name are kept: a holder of a token can open any number of sessions. */
export const MAX_SESSION_RECORDS = 1000

export interface SessionRecordStore {
  /**
   * Adds new records. For a known one, updates the last use; the later time counts. Of each name the newest
   * `MAX_SESSION_RECORDS` are kept. This is not a change in the feed.
   */
  putSessionRecords(records: readonly SessionRecord[]): Promise<void>
  findSessionRecord(id: string): Promise<SessionRecord | undefined>
  /** One page, the newest session first. */
  listSessionRecords(range: SessionRecordRange): Promise<readonly SessionRecord[]>
  /** Deletes expired records. Returns how many. */
  purgeSessionRecords(nowSeconds: number): Promise<number>
}

/** The last use of an access token. */
export interface TokenUse {
  readonly name: string
  /** Unique among all tokens. */
  readonly mark: string
  /** Seconds since the epoch. */
  readonly usedAt: number
}

export interface TokenUseStore {
  /** Of a known token the later time counts. Is no change of the directory. */
  putTokenUses(uses: readonly TokenUse[]): Promise<void>
  listTokenUses(name: string): Promise<readonly TokenUse[]>
  /** Deletes uses up to this time. Returns how many. */
  purgeTokenUses(usedUntil: number): Promise<number>
}

export interface CodeStore {
  /**
   * Marks the one-time codes of this time step and of every earlier one as used. `false`: the user has used this step or
   * a later one already, on any node; nothing was changed.
   */
  useCodeStep(name: string, step: number): Promise<boolean>
}

/** The second factor of an account: recovery codes of an earlier one are not valid for the next. */
export interface FactorKey {
  readonly name: string
  readonly mark: string
}

export interface RecoveryCodeStore {
  /** Replaces all codes of the name. */
  putRecoveryCodes(factor: FactorKey, digests: readonly string[]): Promise<void>
  /** Deletes the code. `false`: there is none; of several uses at the same time, on any node, one succeeds. */
  useRecoveryCode(factor: FactorKey, digest: string): Promise<boolean>
  countRecoveryCodes(factor: FactorKey): Promise<number>
}

/** A link with which a user sets a password. */
export interface PasswordLink {
  readonly name: string
  /** Of the secret in the link. */
  readonly digest: string
  /** Digest of the password, the rights and the state of the user: the link is valid only while they stay the same. */
  readonly version: string
  /** Seconds since the epoch. */
  readonly expiresAt: number
}

/** Every write of a user ends its link. */
export interface PasswordLinkStore {
  /** Replaces an earlier link of the user, and deletes those that have expired. */
  putPasswordLink(link: PasswordLink, nowSeconds: number): Promise<void>
  findPasswordLink(digest: string): Promise<PasswordLink | undefined>
  removePasswordLink(digest: string): Promise<void>
}

/** The last sign-in of an account with its password. */
export interface LastSignIn {
  readonly name: string
  /** Seconds since the epoch. */
  readonly at: number
  /** Address of the client. Empty on a Unix socket. */
  readonly peer: string
}

export interface SignInStore {
  /** An earlier sign-in never replaces a later one. Is no change of the directory. */
  putSignIns(signIns: readonly LastSignIn[]): Promise<void>
  /** `undefined` after the user was deleted. */
  findSignIn(name: string): Promise<LastSignIn | undefined>
}

/** The failed password checks of one counter and key. */
export interface Failure {
  readonly counter: 'lock' | 'account' | 'peer'
  /** For `count` 0, the beginning of the keys. */
  readonly key: string
  /** 0: an administrator has lifted the limit; earlier failures no longer count. */
  readonly count: number
  /** With a lock of an existing account: its name, for lists of locked accounts. */
  readonly name?: string
}

/** The failed password checks that a node counted since its last batch. */
export interface FailureBatch {
  /** Identifies the node; new with every start. */
  readonly node: string
  readonly atMs: number
  /** Seconds since the epoch; from then on the batch has no effect. */
  readonly expiresAt: number
  readonly failures: readonly Failure[]
}

export interface FailureList {
  readonly batches: readonly (FailureBatch & { readonly sequence: number })[]
  /** The sequence of the latest batch. It is independent of the sequence of changes. */
  readonly sequence: number
}

export interface FailureStore {
  addFailures(batch: FailureBatch): Promise<void>
  /** One page of the batches after this sequence, in order. 0 for the first page. */
  listFailures(after: number, limit: number): Promise<FailureList>
  /** Deletes expired batches. Returns how many. */
  purgeFailures(nowSeconds: number): Promise<number>
}

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

/** One entry of the run-time layer of the configuration. */
export interface Setting {
  readonly section: string
  readonly key: string
  /** `undefined`: a deleted administrator. Other deleted settings are not listed. */
  readonly text: string | undefined
  readonly changedAt: number
  readonly sequence: number
}

export interface SettingList {
  readonly settings: readonly Setting[]
  /** The sequence up to which this list is complete. */
  readonly sequence: number
}

export interface SettingChange {
  readonly section: string
  readonly key: string
  readonly nowSeconds: number
  /** Write only if the section has not changed since this sequence. Omitted: write in any case. */
  readonly unchangedSince?: number
}

export interface SettingStore {
  listSettings(): Promise<SettingList>
  setSetting(setting: SettingChange & { readonly text: string }): Promise<WriteOutcome>
  /** Removes the setting, so that the lower layers apply. An administrator stays removed even if a lower layer has it. */
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

/** The changes of the store. Of several changes of one record only the last is listed. */
export interface ChangeFeed {
  /** The sequence of the latest change. All changes up to it are visible. */
  sequence(): Promise<number>
  /** In order. A change never becomes visible before an earlier one. */
  changesSince(sequence: number, limit: number): Promise<readonly Change[]>
  /** Called when there may be a new change, sooner than a poll; not guaranteed. Returns a function that removes the listener. */
  onWake(listener: () => void): () => void
}

export interface Store
  extends UserStore,
    UserSearchStore,
    SessionStore,
    SessionRecordStore,
    TokenUseStore,
    CodeStore,
    RecoveryCodeStore,
    PasswordLinkStore,
    SignInStore,
    FailureStore,
    TotalsStore,
    NodeStore,
    SettingStore,
    AuditStore,
    ChangeFeed {
  /** For logs and health. */
  readonly engine: string
  /** Waits for running operations. Later calls are refused. */
  close(): Promise<void>
}
