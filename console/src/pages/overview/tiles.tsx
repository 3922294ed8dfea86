import type { Overview } from '../../api/client.ts'
import { toMilliseconds, toTotal } from '../../numbers.ts'
import { toHref } from '../../router.ts'
import { texts } from '../../texts.ts'
import { listAlarming, toServerErrors } from './findings.tsx'

interface Tile {
  readonly label: string
  readonly value: string
  readonly note: string
  readonly isAlarming?: boolean
  readonly href?: string
}

/** The totals of the range, each with what it counts. */
export function Tiles({ overview, range }: { readonly overview: Overview; readonly range: string }) {
  return (
    <dl class="tiles">
      {listTiles(overview, range).map(({ label, value, note, isAlarming, href }) => (
        <div key={label} class={`tile ${isAlarming ? 'danger' : ''}`}>
          <dt>{label}</dt>
          <dd>{href ? <a href={href}>{value}</a> : value}</dd>
          <dd class="note">{note}</dd>
        </div>
      ))}
    </dl>
  )
}

function listTiles(shown: Overview, range: string): readonly Tile[] {
  const { totals, lockedAccounts, series, stepSeconds, range: name } = shown
  const { overview } = texts
  const alarming = listAlarming(shown)
  const toAudit = (event: string) => toHref(['audit'], { event, range: name })
  const slow = findLast(series.latencyMs.p95)
  return [
    { label: overview.signIns, value: toTotal(totals.signIns), note: range, href: toAudit('sign-in.accepted') },
    { label: overview.refusals, value: toTotal(totals.refusals), note: range, href: toAudit('sign-in.refused') },
    { label: overview.requests, value: toTotal(totals.requests), note: range },
    {
      label: overview.serverErrors,
      value: toTotal(totals.serverErrors),
      note: range,
      isAlarming: alarming.includes('serverErrors'),
      href: toServerErrors(name),
    },
    {
      label: overview.latency,
      value: slow === undefined ? texts.chart.noValue : toMilliseconds(slow),
      note: overview.latencyNote(stepSeconds),
    },
    {
      label: overview.lockedAccounts,
      value: toTotal(lockedAccounts),
      note: overview.now,
      isAlarming: alarming.includes('lockedAccounts'),
      href: toHref(['users'], { status: 'locked' }),
    },
    { label: overview.revoked, value: toTotal(totals.revokedSessions), note: range, href: toAudit('session.revoked') },
  ]
}

const findLast = (line: readonly (number | null)[]): number | undefined =>
  line.findLast((value) => value !== null) ?? undefined
