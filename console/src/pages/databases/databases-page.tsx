import type { DatabasePageView, DatabaseView, SecurityView } from '../../api/client.ts'
import { Page } from '../../frame/page.tsx'
import type { PageProps } from '../../frame/page-row.ts'
import { WaitingNotices } from '../../modules/user-databases/waiting-notices.tsx'
import { type Route, toHref } from '../../router.ts'
import { shared } from '../../texts.ts'
import { List, NameLink, NoRows, useList } from '../../ui/list.tsx'
import { Badge, Button, Chips, Heading } from '../../ui/parts.tsx'
import { Empty } from '../../ui/states.tsx'
import type { Column } from '../../ui/table.tsx'
import { Toolbar } from '../../ui/toolbar.tsx'
import { DatabasePanel } from './database-panel.tsx'
import { texts } from './texts.ts'

export function DatabasesPage({ title }: PageProps) {
  const list = useList<DatabasePageView>('/databases', { max: 100, events: /^(?:users?|grant|database|upstream)\./ })
  const { query, open, data } = list
  const { search = '' } = query
  const found = data?.databases.find(({ name }) => name === open)
  const panel = open !== undefined && data && (
    <DatabasePanel
      key={open}
      name={open}
      database={found}
      hasGrants={hasGrants(data, found)}
      back={list.back}
      onChange={list.reload}
    />
  )
  return (
    <Page panel={panel}>
      <Heading text={texts.intro} />
      <div class="wide">
        <Toolbar
          name="search"
          label={texts.search}
          value={search}
          found={data && listProblems(data).length === 0 ? describeCount(data) : undefined}
        />
        {data && data.databases.length > 0 && <Problems of={data} />}
        <WaitingNotices />
        <List
          list={list}
          what={texts.what}
          caption={title}
          columns={data ? toColumns(query, data) : []}
          rowsOf={({ databases }) => databases}
          keyOf={({ name }) => name}
          count={describeCount}
          narrow={texts.narrow}
          none={data && <NoDatabases of={data} isFiltered={search !== ''} onRetry={list.reload} />}
        />
      </div>
    </Page>
  )
}

const listProblems = ({ couchdb, arangodb }: DatabasePageView): readonly string[] =>
  [couchdb.problem, arangodb.problem].filter((problem) => problem !== undefined)

const Problems = ({ of }: { readonly of: DatabasePageView }) => (
  <>
    {listProblems(of).map((problem) => (
      <p key={problem} class="notice warning" role="status">
        {problem}
      </p>
    ))}
  </>
)

interface NoDatabasesProps {
  readonly of: DatabasePageView
  readonly isFiltered: boolean
  readonly onRetry: () => void
}

/** Where a server does not answer, it is not known that there are none. */
function NoDatabases({ of, isFiltered, onRetry }: NoDatabasesProps) {
  const problems = listProblems(of)
  if (problems.length > 0)
    return (
      <Empty title={texts.unknown} text={problems.join(' ')}>
        <Button onClick={onRetry}>{shared.actions.retry}</Button>
      </Empty>
    )
  const isSet = of.couchdb.isSet || of.arangodb.isSet
  const words = { ...texts, ...(isSet && texts.noneThere) }
  const fill = isSet ? {} : { fill: toHref(['settings'], { search: 'upstream' }) }
  return <NoRows page="databases" isFiltered={isFiltered} words={words} {...fill} />
}

/** Grants count in ArangoDB. Without one they are shown only where there are some, so that they can be removed. */
const hasGrants = ({ arangodb }: DatabasePageView, database?: DatabaseView): boolean =>
  arangodb.isSet || (database?.users ?? 0) > 0

const describeCount = ({ databases, next }: DatabasePageView): string =>
  texts.count(databases.length, next !== undefined)

/** A door without a database has no columns. */
const toColumns = (query: Route['query'], page: DatabasePageView): readonly Column<DatabaseView>[] => [
  {
    label: texts.name,
    render: ({ name }) => (
      <NameLink path={['databases', name]} query={query}>
        {name === '*' ? texts.all : name}
      </NameLink>
    ),
  },
  ...(page.couchdb.isSet
    ? [
        {
          label: texts.admins,
          isMinor: true,
          render: ({ security, securityProblem }: DatabaseView) =>
            security ? <Holders of={security.admins} /> : securityProblem && <Unreadable problem={securityProblem} />,
        },
        {
          label: texts.members,
          render: ({ name, security, securityProblem }: DatabaseView) =>
            security ? (
              <Members database={name} security={security} />
            ) : (
              securityProblem && <Unreadable problem={securityProblem} />
            ),
        },
      ]
    : []),
  ...(page.databases.some((database) => hasGrants(page, database))
    ? [{ label: texts.granted, render: showGranted }]
    : []),
]

const Unreadable = ({ problem }: { readonly problem: string }) => (
  <span title={problem}>
    <Badge tone="warning">{texts.unreadable}</Badge>
  </span>
)

const Holders = ({ of: { names, roles } }: { readonly of: SecurityView['admins'] }) =>
  names.length + roles.length === 0 ? (
    <span class="quiet">{texts.onlyServerAdmins}</span>
  ) : (
    <Chips items={[...names, ...roles.map(shared.users.role)]} />
  )

/** Without members, CouchDB lets every user in. The role `_admin` alone keeps all others out. */
function Members({ database, security: { members } }: Readonly<{ database: string; security: SecurityView }>) {
  if (members.names.length + members.roles.length === 0)
    return database === '_users' ? (
      <span class="quiet">{texts.ownDocument}</span>
    ) : (
      <Badge tone="warning">{texts.everyUser}</Badge>
    )
  const roles = members.roles.filter((role) => role !== '_admin')
  return <Holders of={{ names: members.names, roles }} />
}

/** Nothing for a database that only CouchDB has. */
function showGranted({ users, isInArangodb }: DatabaseView) {
  if (users > 0) return texts.users(users)
  return isInArangodb && <span class="quiet">{texts.noneGranted}</span>
}
