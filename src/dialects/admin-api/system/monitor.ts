import type { NodeRecord } from '../../../directory/store-port/nodes.ts'
import type { Counts, Totals } from '../../../observe/totals.ts'

/** What the overview and the list of nodes read. */
export interface Monitor {
  /** Identifies this start of the process. */
  readonly instance: string
  /** The totals of all nodes from this time on, with those of this node up to now. */
  listTotals(step: Totals['step'], from: number): Promise<readonly Totals[]>
  /** What this node has counted since its start. */
  readCounts(): Counts
  listNodes(): Promise<readonly NodeRecord[]>
  listCertificates(): readonly Certificate[]
  listSecretAges(): readonly SecretAge[]
}

export interface Certificate {
  readonly listener: string
  /** Seconds since the epoch. */
  readonly expiresAt: number
}

export interface SecretAge {
  /** The option that names the file or folder. */
  readonly option: string
  /** Since the newest file was changed. */
  readonly ageSeconds: number
}
