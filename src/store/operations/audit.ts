import { yieldToOthers } from '../../base/pace.ts'
import { type AuditRecord, hashRecord } from '../../observe/audit/audit-record.ts'
import type { AuditAppend, AuditPurge, AuditRange, AuditStore } from '../../observe/audit/audit-store.ts'
import { type AuditErasure, erasePerson } from '../../observe/audit/erasure.ts'
import {
  type Engine,
  many,
  numberOf,
  type OneStep,
  one,
  purgeRows,
  type StoreSteps,
  textOf,
  type Value,
} from '../engine.ts'
import { requirePageSize } from '../limits.ts'
import { AUDIT_COLUMNS, STATEMENTS } from '../statements.ts'
import { readAuditChain, readAuditRecord, toAuditRow } from './audit-row.ts'

export const createAuditStore = (engine: Engine): AuditStore => ({
  async findAuditChain(node) {
    const [row] = await engine.ask(one(STATEMENTS.findAuditChain, node))
    return row && readAuditChain(row)
  },
  async findAuditHash(node, sequence) {
    const [row] = await engine.ask(one(STATEMENTS.findAuditHash, node, sequence))
    return row && textOf(row, 'hash')
  },
  appendAudit: (append) => engine.transact(() => appendAudit(append)),
  listAuditRecords: (range) => listRecords(engine, range),
  purgeAudit: (purge) => repeat(() => engine.transact(() => purgePage(purge))),
  forgetAuditChains: (beforeMs) => forgetChains(engine, beforeMs),
  eraseAudit: (erasure) => eraseRecords(engine, erasure),
})

/** The row of the chain is locked, so that two processes with the same node name cannot both continue it. */
function* appendAudit({ node, after, records, nowMs, sign }: AuditAppend): StoreSteps<boolean> {
  yield one(STATEMENTS.openAuditChain, node, nowMs)
  const [row] = yield one(STATEMENTS.lockAuditChain, node)
  const chain = readAuditChain(row)
  if (chain.sequence !== after.sequence || chain.hash !== after.hash) return false
  yield many(STATEMENTS.putAudit, records.map(toAuditRow))
  const { sequence, hash } = records.at(-1) ?? records[0]
  const checkpoint = sign({ node, sequence, hash, purged: chain.purged }) ?? null
  const ended = yield one(STATEMENTS.endAuditChain, node, sequence, hash, checkpoint, nowMs)
  const [kept] = yield one(STATEMENTS.countAudit, node, records[0].sequence, sequence)
  // a trigger or rule in the database can drop what is written without an error
  if (ended.length !== 1 || numberOf(kept, 'count') !== records.length)
    throw new Error('the database did not keep the audit records: look for triggers and rules')
  return true
}

async function listRecords(engine: Engine, range: AuditRange): Promise<readonly AuditRecord[]> {
  requirePageSize(range.limit)
  return (await engine.ask(listAudit(range))).map(readAuditRecord)
}

/** Each combination of filters has its own text, so that each reads a range of an index. */
function listAudit({ user, event, outcome, sinceMs, untilMs, order, after, limit }: AuditRange): OneStep {
  const values: Value[] = []
  const bind = (value: Value) => `$${values.push(value)}`
  const [direction, beyond] = order === 'newest' ? ['DESC', '<'] : ['ASC', '>']
  const filters = [
    event !== undefined && `event = ${bind(event)}`,
    outcome !== undefined && `outcome = ${bind(outcome)}`,
    sinceMs !== undefined && `time_ms >= ${bind(sinceMs)}`,
    untilMs !== undefined && `time_ms < ${bind(untilMs)}`,
    after && `(time_ms, node, sequence) ${beyond} (${bind(after.time)}, ${bind(after.node)}, ${bind(after.sequence)})`,
  ]
  const name = `listAudit_${filters.map((filter) => (filter ? 1 : 0)).join('')}_${order}`
  const tail = `ORDER BY time_ms ${direction}, node ${direction}, sequence ${direction} LIMIT ${bind(limit)}`
  const select = (byUser?: string) => {
    const where = [...filters, byUser].filter(Boolean).join(' AND ')
    return `SELECT ${AUDIT_COLUMNS} FROM cardea_audit ${where && `WHERE ${where}`} ${tail}`
  }
  if (user === undefined) return one({ name, text: select() }, ...values)
  const named = bind(user.toWellFormed().replaceAll('\0', ''))
  const either = ['actor', 'subject'].map((by) => `SELECT * FROM (${select(`${by} = ${named}`)}) AS by_${by}`)
  return one({ name: `${name}_user`, text: `SELECT * FROM (${either.join(' UNION ')}) AS records ${tail}` }, ...values)
}

/** Repeats until nothing is left to do, with a pause each time, so that requests are served. Returns the total. */
async function repeat(work: () => Promise<number>): Promise<number> {
  let total = 0
  for (;;) {
    await yieldToOthers()
    const done = await work()
    if (done === 0) return total
    total += done
  }
}

/**
 * Deletes from the beginning of the chain only: after a jump of the clock, an old time can follow a newer one. The last
 * deleted record is remembered, because the first that stays contains its hash.
 */
function* purgePage({ node, beforeMs, nowMs, after, sign }: AuditPurge): StoreSteps<number> {
  const [row] = yield one(STATEMENTS.lockAuditChain, node)
  if (!row) return 0
  yield one(STATEMENTS.markAuditOwned, node, nowMs)
  const { sequence, hash } = readAuditChain(row)
  if (sequence !== after.sequence || hash !== after.hash) return 0
  const [first] = yield one(STATEMENTS.findFirstAudit, node, beforeMs)
  const end = first ? numberOf(first, 'sequence') : sequence + 1
  const deleted = yield one(STATEMENTS.purgeAudit, node, end)
  const lastRow = deleted.toSorted((a, b) => numberOf(a, 'sequence') - numberOf(b, 'sequence')).at(-1)
  if (!lastRow) return 0
  const last = readAuditRecord(lastRow)
  const [next] = yield one(STATEMENTS.findNextAudit, node, last.sequence)
  requireLink(last, next ? readAuditRecord(next) : undefined, hash)
  const purged = { sequence: last.sequence, hash: last.hash }
  const checkpoint = sign({ node, sequence, hash, purged }) ?? null
  yield one(STATEMENTS.markAuditPurged, node, purged.sequence, purged.hash, checkpoint)
  return deleted.length
}

/** Throws, so that nothing is deleted, unless the record after the last deleted one contains its hash. */
function requireLink(last: AuditRecord, next: AuditRecord | undefined, endHash: string): void {
  const isNextIntact = next === undefined || hashRecord(next) === next.hash
  if (isNextIntact && hashRecord(last) === (next?.previous ?? endHash)) return
  throw new Error(`the records after record ${last.sequence} do not continue it`)
}

async function forgetChains(engine: Engine, beforeMs: number): Promise<number> {
  const quiet = (await engine.ask(one(STATEMENTS.listQuietAuditChains, beforeMs))).map(readAuditChain)
  let total = 0
  for (const { node, sequence } of quiet) {
    total += await purgeRows(engine, one(STATEMENTS.purgeAudit, node, sequence + 1))
    await engine.ask(one(STATEMENTS.removeAuditChain, node, beforeMs))
  }
  return total
}

const ERASE_PAGE = 200

/** Page by page, so that other writers and requests do not wait long. */
async function eraseRecords(engine: Engine, erasure: AuditErasure): Promise<number> {
  let after: AuditRange['after']
  let total = 0
  for (;;) {
    const page = await listRecords(engine, { user: erasure.name, order: 'oldest', after, limit: ERASE_PAGE })
    const erased = page.flatMap((record) => erasePerson(record, erasure) ?? [])
    await engine.transact(() => writeErased(erased))
    total += erased.length
    after = page.at(-1)
    if (page.length < ERASE_PAGE) return total
    await yieldToOthers()
  }
}

function* writeErased(records: readonly AuditRecord[]): StoreSteps<void> {
  for (const record of records) {
    const [node, sequence, , , , actor, subject, fields, salts, erased] = toAuditRow(record)
    const values = [node, sequence, actor, subject, fields, salts, erased].map((value) => value ?? null)
    yield one(STATEMENTS.eraseAudit, ...values)
  }
}
