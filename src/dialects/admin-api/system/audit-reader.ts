import type { AuditRecord } from '../../../observe/audit/audit-record.ts'
import type { AuditRange } from '../../../observe/audit/audit-store.ts'

export interface AuditReader {
  /** One page, with the records that were not written yet when it was called. */
  list(range: AuditRange): Promise<readonly AuditRecord[]>
  /** Replaces the name in all records, and the addresses that this user had. */
  erase(name: string): Promise<AuditErased>
}

export interface AuditErased {
  /** What the records show in place of the name. */
  readonly pseudonym: string
  /** How many records were changed. */
  readonly records: number
}
