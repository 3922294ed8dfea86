/**
 * A signed statement: the chain of a node had this end, and its oldest records up to here were deleted because of their
 * age. Without it, an attacker who can write to the store could remove the newest records. The newest checkpoint is also
 * in a file outside the store (`checkpoint-files.ts`), so that such an attacker cannot replace both.
 */
import { isJsonObject, readJsonObject } from '../../base/json.ts'
import { type AuditSigningKey, checkSignature, type Signature, signStatement, type VerifyingKey } from './audit-key.ts'
import type { ChainPlace } from './audit-record.ts'

export interface Checkpoint extends ChainPlace {
  readonly node: string
  readonly purged: ChainPlace
  /** Milliseconds since the epoch. */
  readonly time: number
}

export interface SignedCheckpoint extends Checkpoint, Signature {}

export function signCheckpoint(checkpoint: Checkpoint, key: AuditSigningKey): string {
  const { node, sequence, hash, purged, time } = checkpoint
  return JSON.stringify({ node, sequence, hash, purged, time, ...signStatement(toStatement(checkpoint), key) })
}

export const checkCheckpoint = (signed: SignedCheckpoint, keys: readonly VerifyingKey[]) =>
  checkSignature(toStatement(signed), signed, keys)

const toStatement = ({ node, sequence, hash, purged, time }: Checkpoint) =>
  ['cardea-audit-checkpoint', 1, node, sequence, hash, purged.sequence, purged.hash, time] as const

/** `undefined`: it is not a checkpoint. */
export function readCheckpoint(text: string): SignedCheckpoint | undefined {
  const value = readJsonObject(text) ?? {}
  const { node, time, key, signature } = value
  const [place, purged] = [readPlace(value), readPlace(value['purged'])]
  if (!purged || !place || typeof node !== 'string' || typeof time !== 'number') return undefined
  if (typeof key !== 'string' || typeof signature !== 'string') return undefined
  return { node, ...place, purged, time, key, signature }
}

function readPlace(value: unknown): ChainPlace | undefined {
  const { sequence, hash } = isJsonObject(value) ? value : {}
  return Number.isSafeInteger(sequence) && typeof hash === 'string' ? { sequence: Number(sequence), hash } : undefined
}
