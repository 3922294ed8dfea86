import type { OperationResult } from '../../dialects/admin-api/operations.ts'
import type { Found } from '../../transfer/dump.ts'
import { renderCount, renderDuration } from './progress.ts'

/** One record of an import, with its line if the source has lines. */
export type ImportRecord = Omit<Found, 'line'> & { readonly line?: number }

export interface ImportRules {
  /** Whether an imported user replaces the existing one of that name. */
  readonly replaces: boolean
  readonly isTrial: boolean
}

export type Outcome = OperationResult<'transfer.import'>['outcomes'][number]

export type OutcomeKind = 'created' | 'replaced' | 'kept' | 'refused'

export type Counts = Readonly<Record<OutcomeKind, number>>

export interface Totals {
  readonly users: Counts
  readonly administrators: Counts
  /** Records that are neither users nor errors. */
  readonly passed: number
  /** Records that could not be read. */
  readonly unreadable: number
}

export interface ImportSummary extends Totals {
  readonly format: string | undefined
  readonly isTrial: boolean
  readonly isStopped: boolean
  readonly elapsedMs: number
}

const KINDS: readonly OutcomeKind[] = ['created', 'replaced', 'kept', 'refused']

export function renderImportSummary(summary: ImportSummary): string {
  const { users, administrators, passed, unreadable, elapsedMs, isTrial, isStopped, format = 'unknown' } = summary
  const total = sumOf(users)
  const rate = elapsedMs > 0 ? (total * 1000) / elapsedMs : 0
  return [
    `Users: ${renderCounts(users)}.`,
    ...(sumOf(administrators) > 0 ? [`Administrators: ${renderCounts(administrators)}.`] : []),
    ...(passed > 0 ? [`Passed over, as no users: ${renderCount(passed)}.`] : []),
    ...(unreadable > 0 ? [`Refused, as they cannot be read: ${renderCount(unreadable)}.`] : []),
    `Form ${format}, ${renderDuration(elapsedMs)}, ${renderCount(rate)} users/s.`,
    ...(isStopped ? ['Stopped before the end. What is imported stays, and the same command goes on from there.'] : []),
    ...(isTrial ? ['A dry run: nothing was written.'] : []),
  ].join('\n')
}

const renderCounts = (counts: Counts): string => KINDS.map((kind) => `${renderCount(counts[kind])} ${kind}`).join(', ')

const sumOf = (counts: Counts): number => KINDS.reduce((sum, kind) => sum + counts[kind], 0)
