import type { ListedSession, SessionPage } from '../../api/client.ts'
import { Page } from '../../frame/page.tsx'
import { closeDialog, openDialog, type Route, useRoute } from '../../router.ts'
import { texts } from '../../texts.ts'
import { List, NameLink, NoRows, SelectionBar, useList } from '../../ui/list.tsx'
import { Address, Badge, Button, Heading, Time } from '../../ui/parts.tsx'
import type { Column } from '../../ui/table.tsx'
import { Choice, Toolbar } from '../../ui/toolbar.tsx'
import { EndAll, EndSome } from './end-sessions.tsx'
import { toFilter } from './filter.ts'
import { SessionPanel } from './session-panel.tsx'

export function SessionsPage() {
  const { do: action } = useRoute().query
  const list = useList<SessionPage>('/sessions', {
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
      <Heading text={texts.sessions.intro}>
        <Button kind="danger" onClick={() => openDialog('end-all')}>
          {isFiltered ? texts.sessions.endFound : texts.sessions.endAll}
        </Button>
      </Heading>
      <div class="wide">
        {ids.length > 0 ? (
          <SelectionBar
            text={texts.sessions.selected(ids.length)}
            label={texts.sessions.selected(ids.length)}
            onClear={clear}
          >
            <Button kind="danger" onClick={() => openDialog('end-some')}>
              {texts.sessions.endSome(ids.length)}
            </Button>
          </SelectionBar>
        ) : (
          <Toolbar
            name="search"
            label={texts.sessions.search[by as keyof typeof texts.sessions.search]}
            value={search}
            found={list.data && describeCount(list.data)}
          >
            <Choice name="by" label={texts.sessions.by} value={by} options={Object.entries(texts.sessions.keys)} />
            <Choice name="age" label={texts.sessions.age} value={age} options={Object.entries(texts.sessions.ages)} />
          </Toolbar>
        )}
        <List
          list={list}
          what={texts.sessions.what}
          caption={texts.pages.sessions}
          columns={toColumns(query)}
          rowsOf={(page) => page.sessions}
          keyOf={({ id }) => id}
          nameOf={({ name, peer }) => texts.sessions.openedFrom(name, peer)}
          canSelect
          count={describeCount}
          narrow={texts.sessions.narrow}
          none={<NoRows page="sessions" isFiltered={isFiltered} words={texts.sessions} />}
        />
      </div>
      {action === 'end-all' && <EndAll query={query} onClose={closeDialog} onDone={finish} />}
      {action === 'end-some' && ids.length > 0 && <EndSome ids={ids} onClose={closeDialog} onDone={finish} />}
    </Page>
  )
}

const describeCount = ({ sessions, next }: SessionPage): string =>
  texts.sessions.count(sessions.length, next !== undefined)

const toColumns = (query: Route['query']): readonly Column<ListedSession>[] => [
  {
    label: texts.sessions.keys.user,
    sortBy: ({ name }) => name.toLowerCase(),
    render: ({ id, name, isCurrent }) => (
      <>
        <NameLink path={['sessions', id]} query={query}>
          {name}
        </NameLink>{' '}
        {isCurrent && <Badge tone="accent">{texts.sessions.current}</Badge>}
      </>
    ),
  },
  {
    label: texts.sessions.address,
    sortBy: ({ peer }) => peer,
    render: ({ peer }) => <Address of={peer} />,
  },
  {
    label: texts.sessions.client,
    sortBy: ({ client }) => client.toLowerCase(),
    render: ({ client, userAgent }) => (
      <div class="cut" title={userAgent}>
        {client || texts.sessions.noAgent}
      </div>
    ),
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
