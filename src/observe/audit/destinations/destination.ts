import type { AuditRecord } from '../audit-record.ts'

/** A place outside the store that gets a copy of every audit record. */
export interface Destination {
  /**
   * Throws if a record may be missing there. Then the same records are written again. Without records it only finds out
   * whether the destination works.
   */
  write(records: readonly AuditRecord[]): Promise<void>
  /** For a destination that learns later whether records have arrived. */
  watch?(onUnsure: OnUnsure): void
  /** For files, which another program may have renamed. */
  reopen?(): void
  close(): Promise<void>
}

/** Called with records that were written, but may not have arrived. Then the same records are written again. */
export type OnUnsure = (records: readonly AuditRecord[], error: Error) => void

export interface DestinationSettings {
  /** The size from which a file is rotated. */
  readonly maxFileBytes: number
  /** How many rotated files are kept. */
  readonly maxFiles: number
  /** Signs the requests of a webhook. `undefined`: none is configured. */
  readonly webhookKey: Uint8Array | undefined
}
