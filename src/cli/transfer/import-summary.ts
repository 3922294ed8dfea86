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
  readonly settings: Counts
  /** Records that are neither users nor errors. */
  readonly passed: number
}

export interface ImportSummary extends Totals {
  readonly format: string | undefined
  readonly isTrial: boolean
  readonly isStopped: boolean
  readonly elapsedMs: number
}

const KINDS: readonly OutcomeKind[] = ['created', 'replaced', 'kept', 'refused']

export function renderImportSummary(summary: ImportSummary): string {
  const { users, administrators, settings, passed, elapsedMs, isTrial, isStopped, format = 'unknown' } = summary
  const total = sumOf(users)
  const rate = elapsedMs > 0 ? (total * 1000) / elapsedMs : 0
  return [
    `Users: ${renderCounts(users)}.`,
    ...(sumOf(administrators) > 0 ? [`Administrators: ${renderCounts(administrators)}.`] : []),
    ...(sumOf(settings) > 0 ? [`Settings: ${renderCounts(settings)}.`] : []),
    ...(passed > 0 ? [renderSkipped(passed)] : []),
    `Format ${format}, ${renderDuration(elapsedMs)}, ${renderCount(rate)} users/s.`,
    ...(isStopped
      ? ['Stopped before the end. Imported users are kept; run the same command again to import the others.']
      : []),
    ...(isTrial ? ['Dry run: nothing was written.'] : []),
  ].join('\n')
}

const renderSkipped = (count: number): string =>
  count === 1 ? 'Skipped 1 record that is not a user.' : `Skipped ${renderCount(count)} records that are not users.`

const renderCounts = (counts: Counts): string => KINDS.map((kind) => `${renderCount(counts[kind])} ${kind}`).join(', ')

const sumOf = (counts: Counts): number => KINDS.reduce((sum, kind) => sum + counts[kind], 0)
