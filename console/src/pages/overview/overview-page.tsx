import { useRef } from 'preact/hooks'
import { type AuditListView, api, type LineView, type OverviewView } from '../../api/client.ts'
import { useResource } from '../../api/use-resource.ts'
import { type LiveCounts, useLive } from '../../frame/live.ts'
import { Page } from '../../frame/page.tsx'
import { useShortcuts } from '../../frame/shortcuts.ts'
import { toMilliseconds } from '../../numbers.ts'
import { changeQuery, toHref, useRoute } from '../../router.ts'
import { shared } from '../../texts.ts'
import { toClock } from '../../times.ts'
import { Chart } from '../../ui/chart.tsx'
import { Button, Heading } from '../../ui/parts.tsx'
import { Loaded } from '../../ui/states.tsx'
import { Findings, SERVER_ERRORS } from './findings.tsx'
import { FirstSteps } from './first-steps.tsx'
import { Handlers, HealthFacts } from './health.tsx'
import { MostRefused } from './most-refused.tsx'
import { ServerErrors } from './server-errors.tsx'
import { texts } from './texts.ts'
import { Tiles } from './tiles.tsx'

const RANGES = ['1h', '24h', '7d', '30d'] as const
type Range = (typeof RANGES)[number]

const isRange = (text: string | undefined): text is Range => RANGES.some((range) => range === text)

/** What goes on, and what needs attention. */
export function OverviewPage() {
  const { path, query } = useRoute()
  const range = isRange(query['range']) ? query['range'] : '1h'
  const isTable = query['view'] === 'table'
  const resource = useResource(`overview ${range}`, (signal) => api.get<OverviewView>('/overview', { range }, signal), {
    keepsLast: true,
  })
  useReloadOnEvents(resource.data, resource.reload)
  const toggle = () => changeQuery({ view: isTable ? undefined : 'table' })
  useShortcuts({ t: toggle })
  const panel = path[1] === SERVER_ERRORS && (
    <ServerErrors back={toHref(['overview'], query)} version={resource.data?.totals.serverErrors ?? 0} />
  )
  return (
    <Page panel={panel}>
      <Heading text={resource.data && describeStart(resource.data)}>
        <Ranges current={range} />
        <Button onClick={toggle} aria-keyshortcuts="t">
          {isTable ? texts.asCharts : texts.asTables}
        </Button>
      </Heading>
      <Loaded resource={resource} what={texts.what} shape="overview">
        {(overview) => (
          <div class="wide">
            <Findings overview={overview} />
            <FirstSteps overview={overview} />
            <Tiles overview={overview} range={texts.ranges[range]} />
            <HealthFacts health={overview.health} onChange={resource.reload} />
            <Charts overview={overview} isTable={isTable} />
            <div class="pair">
              <MostRefused overview={overview} range={texts.ranges[range]} />
              <Handlers overview={overview} range={texts.ranges[range]} />
            </div>
          </div>
        )}
      </Loaded>
    </Page>
  )
}

/** Where the first totals are younger than the range. */
function describeStart(overview: OverviewView): string {
  const first = findStart(overview)
  return first > 0 ? texts.since(toClock(overview.from + first * overview.stepSeconds)) : ''
}

/** The step of the first value. */
function findStart({ series }: OverviewView): number {
  const lines = Object.values(series.requests)
  const firsts = lines.map((line) => line.findIndex((value) => value !== null)).filter((at) => at >= 0)
  return firsts.length === 0 ? 0 : Math.min(...firsts)
}

/**
 * The server reports every few seconds; a long range changes only with each of its steps. A locked account is shown at
 * once, because it needs attention.
 */
function useReloadOnEvents(overview: OverviewView | undefined, reload: () => void): void {
  const loadedAt = useRef(0)
  useLive('overview', () => {
    const waitMs = Math.min(overview?.stepSeconds ?? 0, 60) * 1000 - 5000
    if (Date.now() - loadedAt.current < Math.max(waitMs, 5000)) return
    loadedAt.current = Date.now()
    reload()
  })
  useLive<LiveCounts>('counts', ({ lockedAccounts }) => {
    if (overview && lockedAccounts !== overview.lockedAccounts) reload()
  })
}

const Ranges = ({ current }: { readonly current: Range }) => (
  <nav class="segments" aria-label={texts.range}>
    {RANGES.map((range) => (
      <a key={range} href={toHref(['overview'], { range })} aria-current={range === current}>
        {texts.rangeLabels[range]}
      </a>
    ))}
  </nav>
)

const MAX_RESTARTS = 50

/** When servers started, which explains gaps and falls. */
function useRestarts({ from, now }: OverviewView): readonly number[] {
  const query = { event: 'server.started', since: from * 1000, limit: MAX_RESTARTS }
  const { data } = useResource(
    `restarts ${from} ${Math.floor(now / 60)}`,
    (signal) => api.get<AuditListView>('/audit', query, signal),
    { keepsLast: true },
  )
  return data?.records.map(({ time }) => Math.floor(time / 1000)) ?? []
}

/** The last step is still running: its low counts would look like a fall. It is shown only if it is all there is. */
const withoutRunning = (line: LineView): LineView =>
  line.slice(0, -1).some((value) => value !== null) ? [...line.slice(0, -1), null] : line

function Charts({ overview, isTable }: { readonly overview: OverviewView; readonly isTable: boolean }) {
  const { from, stepSeconds, series } = overview
  const common = { from, stepSeconds, isTable, restarts: useRestarts(overview) }
  const perStep = texts.perStep(stepSeconds)
  const toLine = (label: string, values: LineView) => ({ label, values: withoutRunning(values) })
  const doorLines = (lines: Readonly<Record<string, LineView>>) =>
    Object.entries(lines).map(([door, values]) => toLine(shared.doors[door] ?? door, values))
  return (
    <div class="charts">
      <Chart {...common} title={texts.signIns} unit={perStep} lines={doorLines(series.signIns)} />
      <Chart {...common} title={texts.refusals} unit={perStep} lines={doorLines(series.refusals)} />
      <Chart
        {...common}
        title={texts.requests}
        unit={perStep}
        lines={[...doorLines(series.requests), toLine(texts.serverErrorLine, series.serverErrors)]}
      />
      <Chart
        {...common}
        title={texts.latency}
        format={toMilliseconds}
        lines={[
          toLine(texts.median, series.latencyMs.p50),
          toLine(texts.slow, series.latencyMs.p95),
          toLine(texts.slowUpstream, series.upstreamMs.p95),
        ]}
      />
    </div>
  )
}
