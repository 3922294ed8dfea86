import type { AuditRecord } from '../audit-record.ts'

/** A place outside the store that gets a copy of every audit record. */
export interface Destination {
  /** Throws if a record may be missing there. Then the same records are written again. */
  write(records: readonly AuditRecord[]): Promise<void>
  /** For files, which another program may have renamed. */
  reopen?(): void
  close(): Promise<void>
}

export interface DestinationSettings {
  /** The size from which a file is rotated. */
  readonly maxFileBytes: number
  /** How many rotated files are kept. */
  readonly maxFiles: number
  /** Signs the requests of a webhook. `undefined`: none is configured. */
  readonly webhookKey: Uint8Array | undefined
}
