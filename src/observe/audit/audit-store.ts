/** The audit trail as it is kept in the store. */
import type { AuditRecord, ChainPlace } from './audit-record.ts'
import type { AuditErasure } from './erasure.ts'

/** The chain of one node. */
export interface AuditChain extends ChainPlace {
  readonly node: string
  /** The last record that was deleted because of its age. `verify` starts there. */
  readonly purged: ChainPlace
  /** The newest signed checkpoint; `undefined` without a key. */
  readonly checkpoint: string | undefined
}

/** Signs a checkpoint of the chain, inside the transaction that changes it. */
export type SignChain = (chain: Omit<AuditChain, 'checkpoint'>) => string | undefined

export interface AuditAppend {
  readonly node: string
  /** The end of the chain that the records continue. */
  readonly after: ChainPlace
  readonly records: readonly [AuditRecord, ...AuditRecord[]]
  readonly nowMs: number
  readonly sign: SignChain
}

export interface AuditPurge {
  readonly node: string
  readonly beforeMs: number
  readonly nowMs: number
  /** The end of the chain. If it is another one, nothing is deleted and nothing signed. */
  readonly after: ChainPlace
  readonly sign: SignChain
}

/** A page starts after this record. */
export type AuditCursor = Pick<AuditRecord, 'time' | 'node' | 'sequence'>

export interface AuditRange {
  /** Records in which this name is the actor or the subject. */
  readonly user?: string | undefined
  readonly event?: string | undefined
  readonly outcome?: string | undefined
  /** Milliseconds since the epoch, inclusive. */
  readonly sinceMs?: number | undefined
  /** Exclusive. */
  readonly untilMs?: number | undefined
  readonly order: 'newest' | 'oldest'
  readonly after?: AuditCursor | undefined
  /** 1 to 10 000. A shorter page is the last one. */
  readonly limit: number
}

export interface AuditStore {
  findAuditChain(node: string): Promise<AuditChain | undefined>
  /** The hash of one record; `undefined`: there is none. */
  findAuditHash(node: string, sequence: number): Promise<string | undefined>
  /** `false`: another process has continued the chain meanwhile; nothing was written. */
  appendAudit(append: AuditAppend): Promise<boolean>
  listAuditRecords(range: AuditRange): Promise<readonly AuditRecord[]>
  /**
   * Deletes the oldest records of a chain up to the first that is not older, if that one follows them. Otherwise an
   * attacker who changes their time could have them deleted. Returns how many. The chain counts as written now, because
   * its owner runs.
   */
  purgeAudit(purge: AuditPurge): Promise<number>
  /** Deletes the chains that were neither written nor purged since then. Returns how many records it deleted. */
  forgetAuditChains(beforeMs: number): Promise<number>
  /** Replaces the name in all records. Returns in how many. */
  eraseAudit(erasure: AuditErasure): Promise<number>
}
