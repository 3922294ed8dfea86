import type { AuditRecord } from '../../observe/audit/audit-record.ts'
import type { AuditChain } from '../../observe/audit/audit-store.ts'
import type { Row } from '../engine.ts'
import { readAuditChain, readAuditRecord } from '../operations/audit-row.ts'
import type { StoreSnapshot } from './snapshot.ts'

/** The audit trail of a snapshot, in the order of node and sequence. A store without one has no chains. */
export async function readAuditContent(
  snapshot: StoreSnapshot,
): Promise<{ readonly chains: readonly AuditChain[]; readonly records: AsyncIterable<AuditRecord> }> {
  const chains: AuditChain[] = []
  for await (const row of readRows(snapshot, 'cardea_audit_chains')) chains.push(readAuditChain(row))
  return { chains, records: readRecords(snapshot) }
}

async function* readRecords(snapshot: StoreSnapshot): AsyncGenerator<AuditRecord> {
  for await (const row of readRows(snapshot, 'cardea_audit')) yield readAuditRecord(row)
}

async function* readRows(snapshot: StoreSnapshot, name: string): AsyncGenerator<Row> {
  const table = snapshot.tables.find((each) => each.name === name)
  if (!table) return
  for await (const rows of snapshot.readPages(table))
    for (const cells of rows) yield Object.fromEntries(table.columns.map((column, index) => [column, cells[index]]))
}
