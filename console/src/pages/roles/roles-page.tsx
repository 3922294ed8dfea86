import type { RolePageView, RoleView } from '../../api/client.ts'
import { Page } from '../../frame/page.tsx'
import type { PageProps } from '../../frame/page-row.ts'
import type { Route } from '../../router.ts'
import { toHref } from '../../router.ts'
import { List, NameLink, NoRows, useList } from '../../ui/list.tsx'
import { Heading } from '../../ui/parts.tsx'
import type { Column } from '../../ui/table.tsx'
import { Toolbar } from '../../ui/toolbar.tsx'
import { RolePanel } from './role-panel.tsx'
import { texts } from './texts.ts'

export function RolesPage({ title }: PageProps) {
  const list = useList<RolePageView>('/roles', { max: 500, events: /^users?\./ })
  const { query, open } = list
  const { search = '' } = query
  return (
    <Page panel={open !== undefined && <RolePanel key={open} name={open} back={list.back} />}>
      <Heading text={texts.intro} />
      <div class="wide">
        <Toolbar name="search" label={texts.search} value={search} found={list.data && describeCount(list.data)} />
        <List
          list={list}
          what={texts.what}
          caption={title}
          columns={toColumns(query)}
          rowsOf={({ roles }) => roles}
          keyOf={({ name }) => name}
          count={describeCount}
          narrow={texts.narrow}
          none={<NoRows page="roles" isFiltered={search !== ''} fill={toHref(['users'])} words={texts} />}
        />
      </div>
    </Page>
  )
}

const describeCount = ({ roles, next }: RolePageView): string => texts.count(roles.length, next !== undefined)

const toColumns = (query: Route['query']): readonly Column<RoleView>[] => [
  {
    label: texts.name,
    sortBy: ({ name }) => name.toLowerCase(),
    render: ({ name }) => (
      <NameLink path={['roles', name]} query={query}>
        {name}
      </NameLink>
    ),
  },
  {
    label: texts.members,
    kind: 'number',
    sortBy: ({ members }) => members,
    render: ({ members }) => texts.memberCount(members),
  },
]
