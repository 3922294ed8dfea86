import type { AuditRecord } from '../../observe/audit/audit-record.ts'
import type { AuditChain } from '../../observe/audit/audit-store.ts'
import type { TrailContent } from '../../observe/audit/verify.ts'
import { readAuditChain, readAuditRecord } from '../operations/audit-row.ts'
import { readRows, type StoreSnapshot } from './snapshot.ts'

/** The audit trail of a snapshot, in the order of node and sequence. A store without one has no chains. */
export async function readAuditContent(snapshot: StoreSnapshot): Promise<TrailContent> {
  const chains: AuditChain[] = []
  for await (const row of readRows(snapshot, 'cardea_audit_chains')) chains.push(readAuditChain(row))
  return { chains, records: readRecords(snapshot) }
}

async function* readRecords(snapshot: StoreSnapshot): AsyncGenerator<AuditRecord> {
  for await (const row of readRows(snapshot, 'cardea_audit')) yield readAuditRecord(row)
}
