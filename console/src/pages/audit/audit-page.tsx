import { useContext, useState } from 'preact/hooks'
import { type AuditEventKind, type AuditList, type AuditRecord, api } from '../../api/client.ts'
import { useResource } from '../../api/use-resource.ts'
import { CONNECTED, useLive } from '../../frame/live.ts'
import { Page } from '../../frame/page.tsx'
import { changeQuery, toHref, useRoute } from '../../router.ts'
import { texts } from '../../texts.ts'
import { Badge, Button, ButtonLink, ExactTime, Heading } from '../../ui/parts.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { Table } from '../../ui/table.tsx'
import { Choice, Toolbar } from '../../ui/toolbar.tsx'
import { useDebounced } from '../../ui/use-debounced.ts'
import { ExportAudit } from './export-audit.tsx'
import { type AuditFilter, matches, readFilter, toQuery } from './filter.ts'
import { RecordPanel } from './record-panel.tsx'
import { EventKinds, Sentence } from './sentence.tsx'

const STEP = 100
const MAX_SHOWN = 1000

interface KindList {
  readonly events: readonly AuditEventKind[]
}

/** Who did what, newest first. */
export function AuditPage() {
  const kinds = useResource('audit events', (signal) => api.get<KindList>('/audit/events', {}, signal))
  return (
    <EventKinds.Provider value={kinds.data?.events ?? []}>
      <Trail />
    </EventKinds.Provider>
  )
}

function Trail() {
  const { path, query } = useRoute()
  const [, id] = path
  const filter = readFilter(query)
  const shown = Math.min(Number(query['count'] ?? STEP), MAX_SHOWN)
  const isFollowing = query['follow'] === '1'
  const user = useDebounced(filter.user)
  const resource = useResource(
    JSON.stringify([{ ...filter, user }, shown]),
    (signal) => api.get<AuditList>('/audit', { ...toQuery({ ...filter, user }), limit: shown }, signal),
    { keepsLast: true },
  )
  const live = useNewRecords(filter, isFollowing)
  // what was recorded while the stream was closed
  useLive(CONNECTED, () => isFollowing && resource.reload())
  const stored = resource.data?.records
  const records = isFollowing && stored ? mergeRecords(live, stored) : stored
  const { count: _count, ...kept } = query
  return (
    <Page
      panel={id !== undefined && <RecordPanel id={id} records={live} list={resource} back={toHref(['audit'], kept)} />}
    >
      <Heading text={texts.audit.intro}>
        <Button aria-pressed={isFollowing} onClick={() => changeQuery({ follow: isFollowing ? undefined : '1' })}>
          {isFollowing ? texts.audit.following : texts.audit.follow}
        </Button>
        <ExportAudit filter={filter} />
      </Heading>
      <div class="wide">
        <Filters filter={filter} found={records && describeCount(records.length, resource.data?.next)} />
        <Loaded resource={resource} what={texts.audit.what} shape="rows">
          {({ next }) => (
            <Records
              records={records ?? []}
              current={id}
              query={kept}
              hasMore={next !== undefined && shown < MAX_SHOWN}
              onMore={() => changeQuery({ count: String(shown + STEP * 2) })}
            />
          )}
        </Loaded>
      </div>
    </Page>
  )
}

/** The records that arrived since the page was opened and match the filter, newest first. */
function useNewRecords(filter: AuditFilter, isFollowing: boolean): readonly AuditRecord[] {
  const [records, setRecords] = useState<readonly AuditRecord[]>([])
  useLive<AuditRecord>('audit', (record) => {
    if (isFollowing) setRecords((last) => [record, ...last].slice(0, MAX_SHOWN))
  })
  return records.filter((record) => matches(record, filter))
}

const describeCount = (count: number, next: string | undefined): string =>
  next === undefined ? texts.audit.count(count) : texts.audit.firstOf(count)

function mergeRecords(fresh: readonly AuditRecord[], stored: readonly AuditRecord[]): readonly AuditRecord[] {
  const known = new Set(stored.map(({ id }) => id))
  return [...fresh.filter(({ id }) => !known.has(id)), ...stored]
}

interface RecordsProps {
  readonly records: readonly AuditRecord[]
  readonly current: string | undefined
  readonly query: Readonly<Record<string, string>>
  readonly hasMore: boolean
  readonly onMore: () => void
}

function Records({ records, current, query, hasMore, onMore }: RecordsProps) {
  if (records.length === 0) return <NoRecords />
  return (
    <>
      <Table
        caption={texts.pages.audit}
        rows={records}
        keyOf={({ id }) => id}
        current={current}
        columns={[
          { label: texts.audit.time, render: ({ time }) => <ExactTime at={time / 1000} /> },
          {
            label: texts.audit.happened,
            render: (record) => (
              <a class="sentence" href={toHref(['audit', record.id], query)}>
                <Sentence record={record} />
              </a>
            ),
          },
          {
            label: texts.audit.outcome,
            render: ({ outcome }) =>
              outcome === 'failure' ? (
                <Badge tone="danger">{texts.audit.outcomes.failure}</Badge>
              ) : (
                <span class="quiet">{texts.audit.outcomes.success}</span>
              ),
          },
        ]}
      />
      {hasMore && (
        <p class="after-table row between quiet">
          <span>{texts.audit.count(records.length)}</span>
          <Button onClick={onMore}>{texts.actions.more}</Button>
        </p>
      )}
    </>
  )
}

const NoRecords = () => (
  <div class="card">
    <Empty title={texts.audit.none} text={texts.audit.noneText}>
      <ButtonLink href={toHref(['audit'])}>{texts.audit.showAll}</ButtonLink>
    </Empty>
  </div>
)

interface FiltersProps {
  readonly filter: AuditFilter
  /** How many records match, in words. */
  readonly found: string | undefined
}

function Filters({ filter: { user, range, event, outcome }, found }: FiltersProps) {
  const { audit } = texts
  const events = useContext(EventKinds).map((kind) => [kind.event, kind.sentence] as const)
  return (
    <Toolbar name="user" label={audit.user} value={user} found={found}>
      <Choice name="range" label={audit.range} value={range} options={Object.entries(audit.ranges)} />
      <Choice name="event" label={audit.event} value={event} options={[['', audit.allEvents], ...events]} />
      <Choice name="outcome" label={audit.outcome} value={outcome} options={Object.entries(audit.filters)} />
    </Toolbar>
  )
}
