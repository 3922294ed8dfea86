import { useEffect, useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import type { ListedSession, SessionPage } from '../../api/types.ts'
import { type Resource, useResource } from '../../api/use-resource.ts'
import { useLiveReload } from '../../frame/live.ts'
import { Page } from '../../frame/page.tsx'
import { closeDialog, openDialog, type Route, toHref, useRoute } from '../../router.ts'
import { texts } from '../../texts.ts'
import { Button, ButtonLink } from '../../ui/button.tsx'
import { ListEnd, STEP } from '../../ui/list-end.tsx'
import { Badge, Heading } from '../../ui/parts.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { Choice, Toolbar } from '../../ui/toolbar.tsx'
import { useDebounced } from '../../ui/use-debounced.ts'
import { EndAll, EndSome } from './end-sessions.tsx'
import { toFilter } from './filter.ts'
import { SessionPanel } from './session-panel.tsx'

const MAX_SHOWN = 500

export function SessionsPage() {
  const { path, query } = useRoute()
  const [, id] = path
  const { search = '', by = 'user', age = '' } = query
  const shown = Number(query['count'] ?? STEP)
  const list = useSessionList(query, Math.min(shown, MAX_SHOWN))
  useLiveReload(({ event }) => /^(?:session|user|administrator)\.|^sign-in\.accepted/.test(event), list.reload)
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  useEffect(() => setSelected(new Set()), [search, by, age])
  const { do: _action, ...kept } = query
  const isFiltered = search !== '' || age !== ''
  const finish = () => {
    setSelected(new Set())
    list.reload()
  }
  const sessions = list.data?.sessions ?? []
  // a session that has ended meanwhile is no longer in the list
  const ids = sessions.map((each) => each.id).filter((each) => selected.has(each))
  const panel = id !== undefined && list.data && (
    <SessionPanel
      key={id}
      session={sessions.find((each) => each.id === id)}
      back={toHref(['sessions'], kept)}
      onChange={finish}
    />
  )
  return (
    <Page panel={panel}>
      <Heading text={texts.sessions.intro}>
        <Button kind="danger" onClick={() => openDialog('end-all')}>
          {isFiltered ? texts.sessions.endFound : texts.sessions.endAll}
        </Button>
      </Heading>
      <div class="wide">
        {ids.length > 0 ? (
          <section class="toolbar batch" aria-label={texts.sessions.selected(ids.length)}>
            <strong>{texts.sessions.selected(ids.length)}</strong>
            <Button kind="danger" onClick={() => openDialog('end-some')}>
              {texts.sessions.endSome(ids.length)}
            </Button>
            <Button kind="quiet" onClick={() => setSelected(new Set())}>
              {texts.batch.clear}
            </Button>
          </section>
        ) : (
          <Toolbar
            name="search"
            label={texts.sessions.search}
            value={search}
            found={list.data && describeCount(list.data)}
          >
            <Choice name="by" label={texts.sessions.by} value={by} options={Object.entries(texts.sessions.keys)} />
            <Choice name="age" label={texts.sessions.age} value={age} options={Object.entries(texts.sessions.ages)} />
          </Toolbar>
        )}
        <Loaded resource={list} what={texts.sessions.what} shape="rows">
          {(found) =>
            found.sessions.length === 0 ? (
              <NoSessions isFiltered={isFiltered} />
            ) : (
              <>
                <Table
                  caption={texts.pages.sessions}
                  columns={toColumns(kept)}
                  rows={found.sessions}
                  keyOf={(session) => session.id}
                  nameOf={({ name, peer }) => texts.sessions.openedFrom(name, peer)}
                  current={id}
                  sort={query['sort'] ?? ''}
                  selection={{ keys: selected, onChange: setSelected }}
                />
                <ListEnd
                  text={describeCount(found)}
                  hasMore={found.next !== undefined}
                  shown={shown}
                  max={MAX_SHOWN}
                  narrow={texts.sessions.narrow}
                />
              </>
            )
          }
        </Loaded>
      </div>
      {query['do'] === 'end-all' && <EndAll query={query} onClose={closeDialog} onDone={finish} />}
      {query['do'] === 'end-some' && ids.length > 0 && <EndSome ids={ids} onClose={closeDialog} onDone={finish} />}
    </Page>
  )
}

function useSessionList(query: Route['query'], limit: number): Resource<SessionPage> {
  const settled = useDebounced(query['search'] ?? '')
  const filter = { ...toFilter({ ...query, search: settled }), limit }
  const load = (signal: AbortSignal) => api.get<SessionPage>('/sessions', filter, signal)
  return useResource(JSON.stringify(filter), load, { keepsLast: true })
}

const describeCount = ({ sessions, next }: SessionPage): string =>
  texts.sessions.count(sessions.length, next !== undefined)

const toColumns = (query: Route['query']): readonly Column<ListedSession>[] => [
  {
    label: texts.sessions.keys.user,
    sortBy: ({ name }) => name.toLowerCase(),
    render: ({ id, name, isCurrent }) => (
      <>
        <a class="name" href={toHref(['sessions', id], query)} title={name}>
          {name}
        </a>{' '}
        {isCurrent && <Badge tone="accent">{texts.sessions.current}</Badge>}
      </>
    ),
  },
  {
    label: texts.sessions.address,
    sortBy: ({ peer }) => peer,
    render: ({ peer }) => <span class="mono">{peer}</span>,
  },
  {
    label: texts.sessions.client,
    sortBy: ({ client }) => client.toLowerCase(),
    render: ({ client, userAgent }) => <span title={userAgent}>{client || texts.sessions.noAgent}</span>,
  },
  { label: texts.sessions.door, isMinor: true, render: ({ door }) => texts.doors[door] ?? door },
  {
    label: texts.sessions.opened,
    sortBy: ({ createdAt }) => createdAt,
    render: ({ createdAt }) => <Time at={createdAt} />,
  },
  {
    label: texts.sessions.seen,
    isMinor: true,
    sortBy: ({ seenAt }) => seenAt,
    render: ({ seenAt }) => <Time at={seenAt} />,
  },
]

const NoSessions = ({ isFiltered }: { readonly isFiltered: boolean }) => (
  <div class="card">
    {isFiltered ? (
      <Empty title={texts.sessions.noneFound} text={texts.sessions.noneFoundText}>
        <ButtonLink href={toHref(['sessions'])}>{texts.sessions.showAll}</ButtonLink>
      </Empty>
    ) : (
      <Empty title={texts.sessions.none} />
    )}
  </div>
)
