import type { OverviewView } from '../../api/client.ts'
import { toMilliseconds, toTotal } from '../../numbers.ts'
import { toHref } from '../../router.ts'
import { shared } from '../../texts.ts'
import { listAlarming, toServerErrors } from './findings.tsx'
import { texts } from './texts.ts'

interface Tile {
  readonly label: string
  readonly value: string
  readonly note: string
  readonly isAlarming?: boolean
  readonly href?: string
}

/** The totals of the range, each with what it counts. */
export function Tiles({ overview, range }: { readonly overview: OverviewView; readonly range: string }) {
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

function listTiles(shown: OverviewView, range: string): readonly Tile[] {
  const { totals, lockedAccounts, series, stepSeconds, range: name } = shown
  const alarming = listAlarming(shown)
  const toAudit = (event: string) => toHref(['audit'], { event, range: name })
  const slow = findLast(series.latencyMs.p95)
  return [
    { label: texts.signIns, value: toTotal(totals.signIns), note: range, href: toAudit('sign-in.accepted') },
    { label: texts.refusals, value: toTotal(totals.refusals), note: range, href: toAudit('sign-in.refused') },
    { label: texts.requests, value: toTotal(totals.requests), note: range },
    {
      label: texts.serverErrors,
      value: toTotal(totals.serverErrors),
      note: range,
      isAlarming: alarming.includes('serverErrors'),
      href: toServerErrors(name),
    },
    {
      label: texts.latency,
      value: slow === undefined ? shared.chart.noValue : toMilliseconds(slow),
      note: texts.latencyNote(stepSeconds),
    },
    {
      label: texts.lockedAccounts,
      value: toTotal(lockedAccounts),
      note: texts.now,
      isAlarming: alarming.includes('lockedAccounts'),
      href: toHref(['users'], { status: 'locked' }),
    },
    { label: texts.revoked, value: toTotal(totals.revokedSessions), note: range, href: toAudit('session.revoked') },
  ]
}

const findLast = (line: readonly (number | null)[]): number | undefined =>
  line.findLast((value) => value !== null) ?? undefined
