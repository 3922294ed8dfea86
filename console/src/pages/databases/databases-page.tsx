import type { Database, DatabasePage, Security } from '../../api/client.ts'
import { Page } from '../../frame/page.tsx'
import { type Route, toHref } from '../../router.ts'
import { texts } from '../../texts.ts'
import { List, NameLink, NoRows, useList } from '../../ui/list.tsx'
import { Badge, Chips, Heading } from '../../ui/parts.tsx'
import type { Column } from '../../ui/table.tsx'
import { Toolbar } from '../../ui/toolbar.tsx'
import { DatabasePanel } from './database-panel.tsx'

export function DatabasesPage() {
  const list = useList<DatabasePage>('/databases', { max: 100, events: /^(?:users?|grant|database|upstream)\./ })
  const { query, open, data } = list
  const { search = '' } = query
  const found = data?.databases.find(({ name }) => name === open)
  const panel = open !== undefined && data && (
    <DatabasePanel key={open} name={open} database={found} back={list.back} onChange={list.reload} />
  )
  return (
    <Page panel={panel}>
      <Heading text={texts.databases.intro} />
      <div class="wide">
        <Toolbar name="search" label={texts.databases.search} value={search} found={data && describeCount(data)} />
        {[data?.couchdb, data?.arangodb].map(
          (each) =>
            each?.problem && (
              <p key={each.problem} class="notice warning" role="status">
                {each.problem}
              </p>
            ),
        )}
        <List
          list={list}
          what={texts.databases.what}
          caption={texts.pages.databases}
          columns={toColumns(query, data?.couchdb.isSet ?? false)}
          rowsOf={({ databases }) => databases}
          keyOf={({ name }) => name}
          count={describeCount}
          narrow={texts.databases.narrow}
          none={
            <NoRows
              page="databases"
              isFiltered={search !== ''}
              fill={toHref(['settings'], { search: 'upstream' })}
              words={texts.databases}
            />
          }
        />
      </div>
    </Page>
  )
}

const describeCount = ({ databases, next }: DatabasePage): string =>
  texts.databases.count(databases.length, next !== undefined)

/** A door without a database has no columns. */
const toColumns = (query: Route['query'], hasCouchdb: boolean): readonly Column<Database>[] => [
  {
    label: texts.databases.name,
    render: ({ name }) => (
      <NameLink path={['databases', name]} query={query}>
        {name === '*' ? texts.databases.all : name}
      </NameLink>
    ),
  },
  ...(hasCouchdb
    ? [
        {
          label: texts.databases.admins,
          isMinor: true,
          render: ({ security }: Database) => security && <Holders of={security.admins} />,
        },
        {
          label: texts.databases.members,
          render: ({ name, security }: Database) => security && <Members database={name} security={security} />,
        },
      ]
    : []),
  { label: texts.databases.granted, render: showGranted },
]

const Holders = ({ of: { names, roles } }: { readonly of: Security['admins'] }) =>
  names.length + roles.length === 0 ? (
    <span class="quiet">{texts.databases.onlyServerAdmins}</span>
  ) : (
    <Chips items={[...names, ...roles.map(texts.databases.role)]} />
  )

/** Without members, CouchDB lets every user in. The role `_admin` alone keeps all others out. */
function Members({ database, security: { members } }: Readonly<{ database: string; security: Security }>) {
  if (members.names.length + members.roles.length === 0)
    return database === '_users' ? (
      <span class="quiet">{texts.databases.ownDocument}</span>
    ) : (
      <Badge tone="warning">{texts.databases.everyUser}</Badge>
    )
  const roles = members.roles.filter((role) => role !== '_admin')
  return <Holders of={{ names: members.names, roles }} />
}

/** Nothing for a database that only CouchDB has. */
function showGranted({ users, isInArangodb }: Database) {
  if (users > 0) return texts.databases.users(users)
  return isInArangodb && <span class="quiet">{texts.databases.noneGranted}</span>
}
