import { useContext, useState } from 'preact/hooks'
import { type AuditEventKindView, type AuditListView, type AuditRecordView, api } from '../../api/client.ts'
import { useResource } from '../../api/use-resource.ts'
import { CONNECTED, useLive } from '../../frame/live.ts'
import { Page } from '../../frame/page.tsx'
import type { PageProps } from '../../frame/page-row.ts'
import { changeQuery, toHref, useRoute } from '../../router.ts'
import { shared } from '../../texts.ts'
import { Badge, Button, ButtonLink, ExactTime, Heading } from '../../ui/parts.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { Table } from '../../ui/table.tsx'
import { Choice, Toolbar } from '../../ui/toolbar.tsx'
import { useDebounced } from '../../ui/use-debounced.ts'
import { ExportAudit } from './export-audit.tsx'
import { type AuditFilter, matches, readFilter, toQuery } from './filter.ts'
import { RecordPanel } from './record-panel.tsx'
import { EventKinds, Sentence } from './sentence.tsx'
import { texts } from './texts.ts'

const STEP = 100
const MAX_SHOWN = 1000

interface KindList {
  readonly events: readonly AuditEventKindView[]
}

/** Who did what, newest first. */
export function AuditPage({ title }: PageProps) {
  const kinds = useResource('audit events', (signal) => api.get<KindList>('/audit/events', {}, signal))
  return (
    <EventKinds.Provider value={kinds.data?.events ?? []}>
      <Trail caption={title} />
    </EventKinds.Provider>
  )
}

function Trail({ caption }: Pick<RecordsProps, 'caption'>) {
  const { path, query } = useRoute()
  const [, id] = path
  const filter = readFilter(query)
  const shown = Math.min(Number(query['count'] ?? STEP), MAX_SHOWN)
  const isFollowing = query['follow'] === '1'
  const user = useDebounced(filter.user)
  const resource = useResource(
    JSON.stringify([{ ...filter, user }, shown]),
    (signal) => api.get<AuditListView>('/audit', { ...toQuery({ ...filter, user }), limit: shown }, signal),
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
      <Heading text={texts.intro}>
        <Button aria-pressed={isFollowing} onClick={() => changeQuery({ follow: isFollowing ? undefined : '1' })}>
          {isFollowing ? texts.following : texts.follow}
        </Button>
        <ExportAudit filter={filter} />
      </Heading>
      <div class="wide">
        <Filters filter={filter} found={records && describeCount(records.length, resource.data?.next)} />
        <Loaded resource={resource} what={shared.audit.what} shape="rows">
          {({ next }) => (
            <Records
              caption={caption}
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
function useNewRecords(filter: AuditFilter, isFollowing: boolean): readonly AuditRecordView[] {
  const [records, setRecords] = useState<readonly AuditRecordView[]>([])
  useLive<AuditRecordView>('audit', (record) => {
    if (isFollowing) setRecords((last) => [record, ...last].slice(0, MAX_SHOWN))
  })
  return records.filter((record) => matches(record, filter))
}

const describeCount = (count: number, next: string | undefined): string =>
  next === undefined ? texts.count(count) : texts.firstOf(count)

function mergeRecords(
  fresh: readonly AuditRecordView[],
  stored: readonly AuditRecordView[],
): readonly AuditRecordView[] {
  const known = new Set(stored.map(({ id }) => id))
  return [...fresh.filter(({ id }) => !known.has(id)), ...stored]
}

interface RecordsProps {
  readonly caption: string
  readonly records: readonly AuditRecordView[]
  readonly current: string | undefined
  readonly query: Readonly<Record<string, string>>
  readonly hasMore: boolean
  readonly onMore: () => void
}

function Records({ caption, records, current, query, hasMore, onMore }: RecordsProps) {
  if (records.length === 0) return <NoRecords />
  return (
    <>
      <Table
        caption={caption}
        rows={records}
        keyOf={({ id }) => id}
        current={current}
        columns={[
          { label: shared.audit.time, render: ({ time }) => <ExactTime at={time / 1000} /> },
          {
            label: texts.happened,
            render: (record) => (
              <a class="sentence" href={toHref(['audit', record.id], query)}>
                <Sentence record={record} />
              </a>
            ),
          },
          {
            label: texts.outcome,
            render: ({ outcome }) =>
              outcome === 'failure' ? (
                <Badge tone="danger">{texts.outcomes.failure}</Badge>
              ) : (
                <span class="quiet">{texts.outcomes.success}</span>
              ),
          },
        ]}
      />
      {hasMore && (
        <p class="after-table row between quiet">
          <span>{texts.count(records.length)}</span>
          <Button onClick={onMore}>{shared.actions.more}</Button>
        </p>
      )}
    </>
  )
}

const NoRecords = () => (
  <div class="card">
    <Empty title={texts.none} text={texts.noneText}>
      <ButtonLink href={toHref(['audit'])}>{texts.showAll}</ButtonLink>
    </Empty>
  </div>
)

interface FiltersProps {
  readonly filter: AuditFilter
  /** How many records match, in words. */
  readonly found: string | undefined
}

function Filters({ filter: { user, range, event, outcome }, found }: FiltersProps) {
  const events = useContext(EventKinds).map((kind) => [kind.event, kind.sentence] as const)
  return (
    <Toolbar name="user" label={texts.user} value={user} found={found}>
      <Choice name="range" label={texts.range} value={range} options={Object.entries(texts.ranges)} />
      <Choice name="event" label={texts.event} value={event} options={[['', texts.allEvents], ...events]} />
      <Choice name="outcome" label={texts.outcome} value={outcome} options={Object.entries(texts.filters)} />
    </Toolbar>
  )
}
