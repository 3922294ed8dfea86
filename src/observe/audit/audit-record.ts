/**
 * One record of the audit trail: a security event with its place in the chain of its node. The hash covers the hash of
 * the record before, so a record cannot be altered, removed or moved without breaking the chain.
 */
import { createHash, createHmac, randomBytes } from 'node:crypto'
import type { SecurityRecord } from '../security-record.ts'
import type { Signature } from './audit-key.ts'

export interface AuditRecord extends Omit<SecurityRecord, 'event'> {
  /** A kind of event; a newer version may have written one that this version does not know. */
  readonly event: string
  /** From 1, without a gap, for each node. */
  readonly sequence: number
  /** The hash of the record before. */
  readonly previous: string
  readonly hash: string
  /** One random value for each personal field that is not erased. */
  readonly salts: Readonly<Record<string, string>>
  /** Personal fields whose values were erased. */
  readonly erased: Readonly<Record<string, ErasedField>>
}

export interface ErasedField {
  /** Digest of the value that the field had. */
  readonly digest: string
  /** Signs the value that the field has now. `undefined`: the node that erased it has no key. */
  readonly mark?: Signature
}

/** The last record of a chain, or of a part of it. */
export interface ChainPlace {
  readonly sequence: number
  readonly hash: string
}

export const CHAIN_START: ChainPlace = Object.freeze({ sequence: 0, hash: '' })

/** Fields that identify a person. The chain covers a salted digest of them, so that a value can be erased later. */
const PERSONAL_FIELDS: ReadonlySet<string> = new Set(['actor', 'subject', 'peer', 'token'])

const SALT_BYTES = 16

/** Appends the record to the chain that ends at `last`. */
export function sealRecord(record: Pick<AuditRecord, keyof SecurityRecord>, last: ChainPlace): AuditRecord {
  const { time, event, outcome, node, fields } = record
  const personal = Object.keys(fields).filter((name) => PERSONAL_FIELDS.has(name))
  const salts = Object.fromEntries(personal.map((name) => [name, randomBytes(SALT_BYTES).toString('hex')]))
  const sequence = last.sequence + 1
  const open = { time, event, outcome, node, fields, sequence, previous: last.hash, salts, erased: {} }
  return { ...open, hash: hashRecord(open) }
}

/** Appends the records one after the other. */
export function sealAll(records: readonly Pick<AuditRecord, keyof SecurityRecord>[], last: ChainPlace): AuditRecord[] {
  let place = last
  return records.map((record) => {
    const sealed = sealRecord(record, place)
    place = sealed
    return sealed
  })
}

const VERSION = 1

/**
 * SHA-256 over a canonical encoding: a JSON array in a fixed order, with the fields sorted by name. It covers every
 * field: by its value, or by its digest.
 */
export function hashRecord(record: Omit<AuditRecord, 'hash'>): string {
  const { node, sequence, time, event, outcome, previous, fields, salts, erased } = record
  const open = Object.entries(fields).filter(([name]) => !Object.hasOwn(salts, name) && !Object.hasOwn(erased, name))
  const content = [VERSION, node, sequence, time, event, outcome, previous, sorted(open), sorted(listDigests(record))]
  return createHash('sha256').update(JSON.stringify(content)).digest('hex')
}

const sorted = <T>(entries: readonly (readonly [string, T])[]) => entries.toSorted(([a], [b]) => (a < b ? -1 : 1))

const listDigests = ({ fields, salts, erased }: Omit<AuditRecord, 'hash'>): readonly (readonly [string, string])[] => [
  ...Object.entries(erased).map(([name, { digest }]) => [name, digest] as const),
  ...Object.entries(salts).map(([name, salt]) => [name, digestField(salt, name, fields[name])] as const),
]

export const digestField = (salt: string, name: string, value: unknown): string =>
  createHmac('sha256', salt)
    .update(JSON.stringify([name, value]))
    .digest('hex')

/** A record as the admin API, the command line and the destinations show it. */
export function toShownRecord({ fields, salts: _salts, erased: _erased, ...record }: AuditRecord) {
  const { node, sequence, time, event, outcome, previous, hash } = record
  return { id: `${node}:${sequence}`, time, sequence, node, event, outcome, ...fields, previous, hash }
}
