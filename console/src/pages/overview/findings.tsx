import type { OverviewHealthView, OverviewView } from '../../api/client.ts'
import { toHref } from '../../router.ts'
import { findPartPage, toPartLabel } from './part.ts'
import { texts } from './texts.ts'

interface Finding {
  readonly isFailure: boolean
  /** The figure of the overview that shows it, in red. */
  readonly figure?: Figure
  readonly title: string
  readonly text: string
  readonly href?: string | undefined
}

export type Figure = 'serverErrors' | 'lockedAccounts'

/** The last server errors, beside the overview of this range. */
export const toServerErrors = (range: string): string => toHref(['overview', SERVER_ERRORS], { range })

/** The panel in the address. */
export const SERVER_ERRORS = 'server-errors'

const DAY = 86_400
const LOCKOUTS = toHref(['audit'], { event: 'limit.started' })

/** What needs attention, most urgent first; otherwise one line that says that all is well. */
export function Findings({ overview }: { readonly overview: OverviewView }) {
  const findings = listFindings(overview)
  const isFailing = findings.some(({ isFailure }) => isFailure)
  const tone = isFailing ? 'danger' : findings.length > 0 ? 'warning' : ''
  return (
    <div role="status" aria-label={texts.findings}>
      <ul class={`findings ${tone}`}>
        {findings.length === 0 && <li>{texts.allWell}</li>}
        {findings.map(({ title, text, href }) => (
          <li key={title + text}>
            <strong>{href ? <a href={href}>{title}</a> : title}</strong>
            <span>{text}</span>
          </li>
        ))}
      </ul>
    </div>
  )
}

/** The figures that need attention. What is red and what the list says come from the same findings. */
export const listAlarming = (overview: OverviewView): readonly (Figure | undefined)[] =>
  listFindings(overview).map(({ figure }) => figure)

function listFindings(overview: OverviewView): readonly Finding[] {
  const { health, refusedUnknownNames, now } = overview
  return [
    ...listFailures(health),
    ...listCommands(health, now),
    ...listAlarms(overview),
    ...(refusedUnknownNames > 0
      ? [{ isFailure: false, ...texts.unknownNames(refusedUnknownNames), href: LOCKOUTS }]
      : []),
    ...(health.needRestart.length > 0
      ? [{ isFailure: false, title: texts.restart, text: health.needRestart.join(', ') }]
      : []),
    ...health.warnings.map((text) => ({ isFailure: false, title: texts.warning, text })),
  ]
}

function listAlarms({ totals, lockedAccounts, range }: OverviewView): readonly Finding[] {
  const { serverErrors } = totals
  const errors = texts.failed(serverErrors, texts.ranges[range])
  const locked = texts.locked(lockedAccounts)
  const toLocked = toHref(['users'], { status: 'locked' })
  const toErrors = toServerErrors(range)
  return [
    ...(serverErrors > 0 ? [{ isFailure: false, figure: 'serverErrors' as const, ...errors, href: toErrors }] : []),
    ...(lockedAccounts > 0 ? [{ isFailure: false, figure: 'lockedAccounts' as const, ...locked, href: toLocked }] : []),
  ]
}

function listFailures({ parts, upstreams, nodes }: OverviewHealthView): readonly Finding[] {
  const broken = parts
    .filter(({ state }) => state !== 'ok')
    .map(({ name, state, problem }) => ({
      isFailure: state === 'failed',
      title: texts.fails(name, toPartLabel(name), state === 'failed'),
      text: problem ?? '',
      href: findPartPage(name),
    }))
  const findings = upstreams.flatMap(({ findings }) =>
    findings.map(({ upstream, reason, check }) => ({ isFailure: true, title: upstream, text: `${reason} ${check}` })),
  )
  const missing = nodes && nodes.ready < nodes.total ? nodes.total - nodes.ready : 0
  return [
    ...broken,
    ...findings,
    ...(missing > 0 ? [{ isFailure: true, title: texts.nodesDown(missing), text: '', href: toHref(['nodes']) }] : []),
  ]
}

const MAX_BACKUP_AGE = 7 * DAY

/** A store without any backup is no finding: it may be saved in another way. */
const listCommands = ({ lastBackup, lastVerification }: OverviewHealthView, now: number): readonly Finding[] => [
  ...(lastVerification?.findings ? [{ isFailure: true, ...texts.changedTrail(lastVerification.findings) }] : []),
  ...(lastBackup && now - lastBackup.at > MAX_BACKUP_AGE ? [{ isFailure: false, ...texts.backupOld }] : []),
]
