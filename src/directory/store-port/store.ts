/**
 * The store as the directory needs it. Every operation is atomic, and durable when it resolves. If the store cannot be
 * reached, it throws a `Refusal` with the code `store_unavailable`; if a value cannot be stored (U+0000, half a surrogate
 * pair, a key of kilobytes), one with `bad_request`; if the stored record of a user is damaged, one with
 * `record_damaged`. Lists of users leave out damaged records.
 */

import type { AuditStore } from '../../observe/audit/audit-store.ts'
import type { TotalsStore } from '../../observe/record-totals.ts'
import type { ChangeFeed } from './changes.ts'
import type { NodeStore } from './nodes.ts'
import type { CodeStore, PasswordLinkStore, RecoveryCodeStore } from './one-time-secrets.ts'
import type { SessionRecordStore, SessionStore } from './sessions.ts'
import type { SettingStore } from './settings.ts'
import type { FailureStore, SignInStore, TokenUseStore } from './sign-ins.ts'
import type { TimeStore } from './time.ts'
import type { UserSearchStore, UserStore } from './users.ts'

export interface WriteCheck {
  /** Throws if a table is missing, or nothing can be written. Changes nothing. */
  checkWrites(): Promise<void>
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
    TimeStore,
    ChangeFeed,
    WriteCheck {
  /** For logs and health. */
  readonly engine: string
  /** Waits for running operations. Later calls are refused. */
  close(): Promise<void>
}
