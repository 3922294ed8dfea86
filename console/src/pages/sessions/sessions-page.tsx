import type { ListedSessionView, SessionPageView } from '../../api/client.ts'
import { Page } from '../../frame/page.tsx'
import type { PageProps } from '../../frame/page-row.ts'
import { closeDialog, openDialog, type Route, useRoute } from '../../router.ts'
import { shared } from '../../texts.ts'
import { List, NameLink, NoRows, SelectionBar, useList } from '../../ui/list.tsx'
import { Address, Badge, Button, Heading, Time } from '../../ui/parts.tsx'
import type { Column } from '../../ui/table.tsx'
import { Choice, Toolbar } from '../../ui/toolbar.tsx'
import { EndAll, EndSome } from './end-sessions.tsx'
import { toFilter } from './filter.ts'
import { SessionPanel } from './session-panel.tsx'
import { texts } from './texts.ts'

export function SessionsPage({ title }: PageProps) {
  const { do: action } = useRoute().query
  const list = useList<SessionPageView>('/sessions', {
    max: 500,
    events: /^(?:session|user|administrator)\.|^sign-in\.accepted/,
    toFilter,
  })
  const { query, open, selection } = list
  const { search = '', by = 'user', age = '' } = query
  const isFiltered = search !== '' || age !== ''
  const clear = () => selection.onChange(new Set())
  const finish = () => {
    clear()
    list.reload()
  }
  const sessions = list.data?.sessions ?? []
  // a session that has ended meanwhile is no longer in the list
  const ids = sessions.map((each) => each.id).filter((each) => selection.keys.has(each))
  const panel = open !== undefined && list.data && (
    <SessionPanel key={open} session={sessions.find(({ id }) => id === open)} back={list.back} onChange={finish} />
  )
  return (
    <Page panel={panel}>
      <Heading text={texts.intro}>
        <Button kind="danger" onClick={() => openDialog('end-all')}>
          {isFiltered ? texts.endFound : texts.endAll}
        </Button>
      </Heading>
      <div class="wide">
        {ids.length > 0 ? (
          <SelectionBar text={texts.selected(ids.length)} label={texts.selected(ids.length)} onClear={clear}>
            <Button kind="danger" onClick={() => openDialog('end-some')}>
              {texts.endSome(ids.length)}
            </Button>
          </SelectionBar>
        ) : (
          <Toolbar
            name="search"
            label={texts.search[by as keyof typeof texts.search]}
            value={search}
            found={list.data && describeCount(list.data)}
          >
            <Choice name="by" label={texts.by} value={by} options={Object.entries(texts.keys)} />
            <Choice name="age" label={texts.age} value={age} options={Object.entries(texts.ages)} />
          </Toolbar>
        )}
        <List
          list={list}
          what={shared.sessions.what}
          caption={title}
          columns={toColumns(query)}
          rowsOf={(page) => page.sessions}
          keyOf={({ id }) => id}
          nameOf={({ name, peer }) => texts.openedFrom(name, peer)}
          canSelect
          count={describeCount}
          narrow={texts.narrow}
          none={<NoRows page="sessions" isFiltered={isFiltered} words={{ ...shared.sessions, ...texts }} />}
        />
      </div>
      {action === 'end-all' && <EndAll query={query} onClose={closeDialog} onDone={finish} />}
      {action === 'end-some' && ids.length > 0 && <EndSome ids={ids} onClose={closeDialog} onDone={finish} />}
    </Page>
  )
}

const describeCount = ({ sessions, next }: SessionPageView): string => texts.count(sessions.length, next !== undefined)

const toColumns = (query: Route['query']): readonly Column<ListedSessionView>[] => [
  {
    label: texts.keys.user,
    sortBy: ({ name }) => name.toLowerCase(),
    render: ({ id, name, isCurrent }) => (
      <>
        <NameLink path={['sessions', id]} query={query}>
          {name}
        </NameLink>{' '}
        {isCurrent && <Badge tone="accent">{shared.sessions.current}</Badge>}
      </>
    ),
  },
  {
    label: texts.address,
    sortBy: ({ peer }) => peer,
    render: ({ peer }) => <Address of={peer} />,
  },
  {
    label: shared.sessions.client,
    sortBy: ({ client }) => client.toLowerCase(),
    render: ({ client, userAgent }) => (
      <div class="cut" title={userAgent}>
        {client || shared.sessions.noAgent}
      </div>
    ),
  },
  { label: texts.door, isMinor: true, render: ({ door }) => shared.doors[door] ?? door },
  {
    label: texts.opened,
    sortBy: ({ createdAt }) => createdAt,
    render: ({ createdAt }) => <Time at={createdAt} />,
  },
  {
    label: shared.sessions.seen,
    isMinor: true,
    sortBy: ({ seenAt }) => seenAt,
    render: ({ seenAt }) => <Time at={seenAt} />,
  },
]
