// Refused sign-ins of the users in a list, from the audit trail. One request reads the newest records of all users.
import { type AuditListView, type AuditRecordView, api } from '../../api/client.ts'
import { useResource } from '../../api/use-resource.ts'
import { useIsAdministrator } from '../../frame/session.ts'
import { toCount } from '../../numbers.ts'
import { toHref } from '../../router.ts'
import { toClock } from '../../times.ts'
import { Sparkline } from '../../ui/sparkline.tsx'
import type { Column } from '../../ui/table.tsx'
import { texts } from './texts.ts'

const EVENT = 'sign-in.refused'
const MAX_READ = 1000
const HOUR_MS = 3_600_000
const HOURS = 24

interface Refusals {
  /** For each name, how often a sign-in was refused in each of the last hours. */
  readonly byName: ReadonlyMap<string, readonly number[]>
  /** In seconds since the epoch; `undefined`: all of the last hours were read. */
  readonly since: number | undefined
}

/** `undefined` until they are loaded, and for user administrators, who cannot read the audit trail. */
export function useRefusals(): Refusals | undefined {
  const isAdministrator = useIsAdministrator()
  const { data } = useResource('refusals', async (signal) => {
    if (!isAdministrator) return undefined
    const startMs = Date.now() - HOURS * HOUR_MS
    return countRefusals(
      await api.get<AuditListView>('/audit', { event: EVENT, since: startMs, limit: MAX_READ }, signal),
      startMs,
    )
  })
  return data
}

function countRefusals({ records, next }: AuditListView, startMs: number): Refusals {
  const byName = new Map<string, number[]>()
  for (const { subject = '', time, count = 1 } of records) {
    const hours = byName.get(subject) ?? new Array<number>(HOURS).fill(0)
    const hour = Math.min(Math.max(Math.floor((time - startMs) / HOUR_MS), 0), HOURS - 1)
    hours[hour] = (hours[hour] ?? 0) + count
    byName.set(subject, hours)
  }
  return { byName, since: next === undefined ? undefined : oldestOf(records) }
}

const oldestOf = (records: readonly AuditRecordView[]): number => Math.floor((records.at(-1)?.time ?? 0) / 1000)

export const toRefusalColumn = ({ byName, since }: Refusals): Column<{ readonly name: string }> => ({
  label: since === undefined ? texts.refusedLastDay : texts.refusedSince(toClock(since)),
  render: ({ name }) => {
    const hours = byName.get(name)
    if (!hours) return undefined
    const total = hours.reduce((sum, count) => sum + count, 0)
    return (
      <a class="trend" href={toHref(['audit'], { user: name, event: EVENT, range: '24h' })}>
        <Sparkline values={hours} label={texts.refusedTrend(total)} />
        {toCount(total)}
      </a>
    )
  },
})
