/**
 * The store as the directory needs it. Every operation is atomic, and durable when it resolves. If the store cannot be
 * reached, it throws a `Refusal` with the code `store_unavailable`; if a value cannot be stored (U+0000, half a surrogate
 * pair, a key of kilobytes), one with `bad_request`; if the stored record of a user is damaged, one with
 * `record_damaged`. Lists of users leave out damaged records.
 */

import type { AuditStore } from '../../observe/audit/audit-store.ts'
import type { TotalsStore } from '../../observe/record-totals.ts'
import type { ChangeFeed } from './changes.ts'
import type { JobStore } from './jobs.ts'
import type { NodeStore } from './nodes.ts'
import type { CodeStore, RecoveryCodeStore } from './one-time-secrets.ts'
import type { SessionRecordStore, SessionStore } from './sessions.ts'
import type { SettingStore } from './settings.ts'
import type { FailureStore, SignInStore, TokenUseStore } from './sign-ins.ts'
import type { TimeStore } from './time.ts'
import type { UserSearchStore, UserStore } from './users.ts'

export interface WriteCheck {
  /** Throws if a table is missing, or nothing can be written. Changes nothing. */
  checkWrites(): Promise<void>
  /** What went wrong lately and may go wrong again, although the store can be read and written. */
  findProblem(): string | undefined
}

export interface Store
  extends UserStore,
    UserSearchStore,
    SessionStore,
    SessionRecordStore,
    TokenUseStore,
    CodeStore,
    RecoveryCodeStore,
    SignInStore,
    FailureStore,
    TotalsStore,
    NodeStore,
    JobStore,
    SettingStore,
    AuditStore,
    TimeStore,
    ChangeFeed,
    WriteCheck {
  /** For logs and health. */
  readonly engine: string
  /**
   * The settings, for what a process writes while it applies its configuration. They are not announced to its siblings,
   * which may be doing the same, and would wait for each other.
   */
  readonly unannounced: SettingStore
  /** Waits for running operations. Later calls are refused. */
  close(): Promise<void>
}
