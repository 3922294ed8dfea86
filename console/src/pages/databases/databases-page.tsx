import { api } from '../../api/client.ts'
import type { Database, DatabasePage, Security } from '../../api/types.ts'
import { useResource } from '../../api/use-resource.ts'
import { useLiveReload } from '../../frame/live.ts'
import { Page } from '../../frame/page.tsx'
import { type Route, toHref, useRoute } from '../../router.ts'
import { texts } from '../../texts.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { ListEnd, STEP } from '../../ui/list-end.tsx'
import { Badge, Chips, Heading } from '../../ui/parts.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { Toolbar } from '../../ui/toolbar.tsx'
import { useDebounced } from '../../ui/use-debounced.ts'
import { DatabasePanel } from './database-panel.tsx'

const MAX_SHOWN = 100

export function DatabasesPage() {
  const { path, query } = useRoute()
  const [, name] = path
  const { search = '' } = query
  const shown = Math.min(Number(query['count'] ?? STEP), MAX_SHOWN)
  const settled = useDebounced(search)
  const load = (signal: AbortSignal) => api.get<DatabasePage>('/databases', { search: settled, limit: shown }, signal)
  const list = useResource(`${settled} ${shown}`, load, { keepsLast: true })
  useLiveReload(({ event }) => /^(?:users?|grant|database|upstream)\./.test(event), list.reload)
  const found = list.data?.databases.find((each) => each.name === name)
  const panel = name !== undefined && list.data && (
    <DatabasePanel key={name} name={name} database={found} back={toHref(['databases'], query)} onChange={list.reload} />
  )
  return (
    <Page panel={panel}>
      <Heading text={texts.databases.intro} />
      <div class="wide">
        <Toolbar
          name="search"
          label={texts.databases.search}
          value={search}
          found={list.data && describeCount(list.data)}
        />
        <Loaded resource={list} what={texts.databases.what} shape="rows">
          {(data) => (
            <>
              {[data.couchdb, data.arangodb].map(
                ({ problem }) =>
                  problem && (
                    <p key={problem} class="notice warning" role="status">
                      {problem}
                    </p>
                  ),
              )}
              {data.databases.length === 0 ? (
                <NoDatabases isFiltered={search !== ''} />
              ) : (
                <>
                  <Table
                    caption={texts.pages.databases}
                    columns={toColumns(query, data)}
                    rows={data.databases}
                    keyOf={(database) => database.name}
                    current={name}
                  />
                  <ListEnd
                    text={describeCount(data)}
                    hasMore={data.next !== undefined}
                    shown={shown}
                    max={MAX_SHOWN}
                    narrow={texts.databases.narrow}
                  />
                </>
              )}
            </>
          )}
        </Loaded>
      </div>
    </Page>
  )
}

const describeCount = ({ databases, next }: DatabasePage): string =>
  texts.databases.count(databases.length, next !== undefined)

/** A door without a database has no columns. */
const toColumns = (query: Route['query'], { couchdb }: DatabasePage): readonly Column<Database>[] => [
  {
    label: texts.databases.name,
    render: ({ name }) => (
      <a class="name" href={toHref(['databases', name], query)} title={name}>
        {name === '*' ? texts.databases.all : name}
      </a>
    ),
  },
  ...(couchdb.isSet
    ? [
        {
          label: texts.databases.admins,
          isMinor: true,
          render: ({ security }: Database) => security && <Holders of={security.admins} />,
        },
        {
          label: texts.databases.members,
          render: ({ security }: Database) => security && <Members security={security} />,
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
function Members({ security: { members } }: { readonly security: Security }) {
  if (members.names.length + members.roles.length === 0)
    return <Badge tone="warning">{texts.databases.everyUser}</Badge>
  const roles = members.roles.filter((role) => role !== '_admin')
  return <Holders of={{ names: members.names, roles }} />
}

/** Nothing for a database that only CouchDB has. */
function showGranted({ users, isInArangodb }: Database) {
  if (users > 0) return texts.databases.users(users)
  return isInArangodb && <span class="quiet">{texts.databases.noneGranted}</span>
}

const NoDatabases = ({ isFiltered }: { readonly isFiltered: boolean }) => (
  <div class="card">
    {isFiltered ? (
      <Empty title={texts.databases.noneFound} text={texts.databases.noneFoundText}>
        <ButtonLink href={toHref(['databases'])}>{texts.databases.showAll}</ButtonLink>
      </Empty>
    ) : (
      <Empty title={texts.databases.none} text={texts.databases.noneText} />
    )}
  </div>
)
