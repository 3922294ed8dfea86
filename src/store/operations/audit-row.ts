/** The rows of the audit trail. An attacker may have written them, so every value is checked. */
import { isJsonObject, readJsonObject } from '../../base/json.ts'
import type { AuditRecord, ErasedField } from '../../observe/audit/audit-record.ts'
import type { AuditChain } from '../../observe/audit/audit-store.ts'
import { numberOf, type Row, textOf, type Value } from '../engine.ts'
import { AUDIT_COLUMNS } from '../statements.ts'

export const toAuditRow = ({ fields, ...record }: AuditRecord): readonly Value[] => {
  const { actor, subject, ...others } = fields
  return [
    record.node,
    record.sequence,
    record.time,
    record.event,
    record.outcome,
    toColumn(actor),
    toColumn(subject),
    JSON.stringify(others),
    JSON.stringify(record.salts),
    JSON.stringify(record.erased),
    record.previous,
    record.hash,
  ]
}

const toColumn = (value: AuditRecord['fields'][string] | undefined): string | null =>
  typeof value === 'string' ? value : null

export const readAuditChain = (row: Row | undefined): AuditChain => ({
  node: textOf(row, 'node'),
  sequence: numberOf(row, 'sequence'),
  hash: textOf(row, 'hash'),
  purged: { sequence: numberOf(row, 'purged_sequence'), hash: textOf(row, 'purged_hash') },
  checkpoint: row?.['checkpoint'] === null ? undefined : textOf(row, 'checkpoint'),
})

/** A row that Cardea cannot have written becomes a record whose hash is wrong, so `verify` reports it as altered. */
export const readAuditRecord = (row: Row): AuditRecord =>
  findAuditRecord(row) ?? {
    ...readPlain(row),
    fields: { ...readNames(row), damaged: DAMAGED },
    salts: {},
    erased: {},
  }

/** `undefined`: Cardea cannot have written this row. */
export function findAuditRecord(row: Row): AuditRecord | undefined {
  const fields = readMembers(row, 'fields', isFieldValue)
  const salts = readMembers(row, 'salts', isText)
  const erased = readMembers(row, 'erased', isErasedField)
  if (!fields || !salts || !erased) return undefined
  const record = { ...readPlain(row), fields: { ...readNames(row), ...fields }, salts, erased }
  return isStoredAs(record, row) ? record : undefined
}

const readPlain = (row: Row): Omit<AuditRecord, 'fields' | 'salts' | 'erased'> => ({
  node: textOf(row, 'node'),
  sequence: numberOf(row, 'sequence'),
  time: numberOf(row, 'time_ms'),
  event: textOf(row, 'event'),
  outcome: textOf(row, 'outcome') === 'failure' ? 'failure' : 'success',
  previous: textOf(row, 'previous'),
  hash: textOf(row, 'hash'),
})

const readNames = (row: Row): AuditRecord['fields'] => ({
  ...(row['actor'] !== null && { actor: textOf(row, 'actor') }),
  ...(row['subject'] !== null && { subject: textOf(row, 'subject') }),
})

/** The hash covers this field, and no record was sealed with it. */
const DAMAGED = 'Cardea did not write this row'

const TEXT_COLUMNS = ['outcome', 'actor', 'subject', 'fields', 'salts', 'erased']
const COLUMNS = AUDIT_COLUMNS.split(', ')

/** The text of a row says nothing that the record does not say, such as a member with the name of another. */
function isStoredAs(record: AuditRecord, row: Row): boolean {
  const values = toAuditRow(record)
  return TEXT_COLUMNS.every((column) => values[COLUMNS.indexOf(column)] === row[column])
}

function readMembers<T>(
  row: Row,
  column: string,
  isMember: (value: unknown) => value is T,
): Readonly<Record<string, T>> | undefined {
  const object = readJsonObject(textOf(row, column))
  if (!object) return undefined
  const members = Object.entries(object)
  return members.every((member): member is [string, T] => isMember(member[1])) ? Object.fromEntries(members) : undefined
}

const isText = (value: unknown): value is string => typeof value === 'string'

const isFieldValue = (value: unknown): value is AuditRecord['fields'][string] =>
  isText(value) || typeof value === 'number' || (Array.isArray(value) && value.every(isText))

function isErasedField(value: unknown): value is ErasedField {
  if (!isJsonObject(value) || !isText(value['digest'])) return false
  const mark = value['mark']
  return mark === undefined || (isJsonObject(mark) && isText(mark['key']) && isText(mark['signature']))
}
