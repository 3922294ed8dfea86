/**
 * Erases a person from records. The digest of each value stays, so the hash of a record stays the same. Each new value is
 * signed, so that an attacker who can write to the store cannot erase a field, or change one that was erased.
 */
import { type AuditSigningKey, checkSignature, type Signature, signStatement, type VerifyingKey } from './audit-key.ts'
import { type AuditRecord, digestField, type ErasedField } from './audit-record.ts'

/** A field of a record, and the value it has after the erasure. */
interface ErasedValue extends Pick<AuditRecord, 'node' | 'sequence' | 'hash'> {
  readonly field: string
  readonly value: unknown
}

export interface AuditErasure {
  readonly name: string
  readonly pseudonym: string
  /** `undefined`: this node has no key. */
  readonly key: AuditSigningKey | undefined
}

const PSEUDONYM = /^erased-[0-9a-f]{12}$/
/** In place of an address or the name of a token. */
const ERASED_VALUE = '(erased)'

/**
 * Replaces the name of a person in a record, and the address that person used. Without the salts, the digests cannot be
 * compared with guessed names. `undefined`: nothing to erase.
 */
export function erasePerson(record: AuditRecord, erasure: AuditErasure): AuditRecord | undefined {
  const { fields, salts, erased } = record
  const values = Object.entries(listErasable(fields, erasure)).filter(([field]) => Object.hasOwn(salts, field))
  if (values.length === 0) return undefined
  const marked = values.map(([field, value]): [string, ErasedField] => {
    const mark = erasure.key && signStatement(toStatement({ ...record, field, value }), erasure.key)
    return [field, { digest: digestField(salts[field] ?? '', field, fields[field]), ...(mark && { mark }) }]
  })
  const kept = Object.entries(salts).filter(([field]) => !values.some(([erasing]) => erasing === field))
  return {
    ...record,
    fields: { ...fields, ...Object.fromEntries(values) },
    salts: Object.fromEntries(kept),
    erased: { ...erased, ...Object.fromEntries(marked) },
  }
}

/** The address belongs to the actor; where there is no actor, to the user who tried to sign in. */
const listErasable = (
  { actor, subject, peer, token }: AuditRecord['fields'],
  { name, pseudonym }: AuditErasure,
): Readonly<Record<string, string>> => ({
  ...(actor === name && { actor: pseudonym }),
  ...(subject === name && { subject: pseudonym }),
  ...(token !== undefined && subject === name && { token: ERASED_VALUE }),
  ...(peer !== undefined && (actor ?? subject) === name && { peer: ERASED_VALUE }),
})

const toStatement = ({ node, sequence, hash, field, value }: ErasedValue) =>
  ['cardea-audit-erasure', 1, node, sequence, hash, field, value] as const

/** What is wrong with the erased fields of a record, one sentence for each. Without keys, no signature is checked. */
export const checkErasures = (record: AuditRecord, keys: readonly VerifyingKey[]): readonly string[] =>
  Object.entries(record.erased).flatMap(([field, { mark }]) => {
    if (!isErasedValue(record, field)) return `${field} is not a value that an erasure writes`
    const problem =
      keys.length === 0 ? undefined : checkMark({ ...record, field, value: record.fields[field] }, mark, keys)
    return problem === undefined ? [] : `${field} was erased ${problem}`
  })

function isErasedValue({ fields, erased }: AuditRecord, field: string): boolean {
  if (field === 'actor' || field === 'subject') return PSEUDONYM.test(String(fields[field]))
  const owner = field === 'peer' && fields['actor'] !== undefined ? 'actor' : 'subject'
  return fields[field] === ERASED_VALUE && Object.hasOwn(erased, owner)
}

function checkMark(value: ErasedValue, mark: Signature | undefined, keys: readonly VerifyingKey[]): string | undefined {
  if (!mark) return 'without a signature'
  const check = checkSignature(toStatement(value), mark, keys)
  if (check === 'unknown') return `with the key ${mark.key}, which is not given: use --key`
  return check === 'valid' ? undefined : 'with a wrong signature'
}
