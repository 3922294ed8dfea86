/**
 * An operator knows of a finding of `verify` and accepts it. That is a record of its own, signed with the audit key:
 * otherwise an attacker who can write to the store could acknowledge the own changes.
 */
import { sign, verify } from 'node:crypto'
import type { AuditRecord } from './audit-record.ts'
import type { SigningKey, VerifyingKey } from './checkpoint.ts'
import type { Acknowledgement, Finding } from './findings.ts'

interface Statement {
  /** Ids of findings. */
  readonly findings: readonly string[]
  readonly reason: string
}

/** The fields of the record. Without a key it is not signed. */
export const signAcknowledgement = (statement: Statement, key: SigningKey | undefined) => ({
  ...statement,
  ...(key && { key: key.id, signature: sign(null, toSigned(statement), key.signing).toString('base64url') }),
})

const toSigned = ({ findings, reason }: Statement): Buffer =>
  Buffer.from(JSON.stringify(['cardea-audit-acknowledgement', 1, findings, reason]))

/** The acknowledgements of a trail. Without keys, no signature is checked. */
export class Acknowledgements {
  readonly #keys: readonly VerifyingKey[]
  readonly #known = new Map<string, Acknowledgement>()

  constructor(keys: readonly VerifyingKey[]) {
    this.#keys = keys
  }

  add({ event, time, fields }: AuditRecord): void {
    const { findings, reason } = fields
    if (event !== 'audit.acknowledged' || !Array.isArray(findings) || typeof reason !== 'string') return
    if (!this.#isSigned({ findings, reason }, fields)) return
    for (const id of findings) this.#known.set(id, { time, reason })
  }

  mark(finding: Finding): Finding {
    const acknowledged = this.#known.get(finding.id ?? '')
    return acknowledged ? { ...finding, acknowledged } : finding
  }

  #isSigned(statement: Statement, { key, signature }: AuditRecord['fields']): boolean {
    if (this.#keys.length === 0) return true
    const known = this.#keys.find(({ id }) => id === key)
    return (
      known !== undefined && verify(null, toSigned(statement), known.key, Buffer.from(String(signature), 'base64url'))
    )
  }
}
