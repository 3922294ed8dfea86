import type { Counts, Importer } from './importer.ts'
import { renderCount, renderDuration } from './progress.ts'

export type ImportSummary = Importer['totals'] & {
  readonly format: string
  readonly isTrial: boolean
  readonly isStopped: boolean
  readonly elapsedMs: number
}

export function renderImportSummary(summary: ImportSummary): string {
  const { users, administrators, settings, passed, format, elapsedMs } = summary
  const rate = elapsedMs > 0 ? (sumOf(users) * 1000) / elapsedMs : 0
  return [
    `Users: ${renderCounts(users)}.`,
    ...(sumOf(administrators) > 0 ? [`Administrators: ${renderCounts(administrators)}.`] : []),
    ...(sumOf(settings) > 0 ? [`Settings: ${renderCounts(settings)}.`] : []),
    ...(passed > 0 ? [renderSkipped(passed)] : []),
    `Format ${format}, ${renderDuration(elapsedMs)}, ${renderCount(rate)} users/s.`,
    ...(summary.isStopped
      ? ['Stopped before the end. Imported users are kept; run the same command again to import the others.']
      : []),
    ...(summary.isTrial ? ['Dry run: nothing was written.'] : []),
  ].join('\n')
}

const renderSkipped = (count: number): string =>
  count === 1 ? 'Skipped 1 record that is not a user.' : `Skipped ${renderCount(count)} records that are not users.`

const renderCounts = (counts: Counts): string =>
  Object.entries(counts)
    .map(([kind, count]) => `${renderCount(count)} ${kind}`)
    .join(', ')

const sumOf = (counts: Counts): number => Object.values(counts).reduce((sum, count) => sum + count, 0)
