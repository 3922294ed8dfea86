import type { Role, RolePage } from '../../api/client.ts'
import { Page } from '../../frame/page.tsx'
import type { Route } from '../../router.ts'
import { toHref } from '../../router.ts'
import { texts } from '../../texts.ts'
import { List, NameLink, NoRows, useList } from '../../ui/list.tsx'
import { Heading } from '../../ui/parts.tsx'
import type { Column } from '../../ui/table.tsx'
import { Toolbar } from '../../ui/toolbar.tsx'
import { RolePanel } from './role-panel.tsx'

export function RolesPage() {
  const list = useList<RolePage>('/roles', { max: 500, events: /^users?\./ })
  const { query, open } = list
  const { search = '' } = query
  return (
    <Page panel={open !== undefined && <RolePanel key={open} name={open} back={list.back} />}>
      <Heading text={texts.roles.intro} />
      <div class="wide">
        <Toolbar
          name="search"
          label={texts.roles.search}
          value={search}
          found={list.data && describeCount(list.data)}
        />
        <List
          list={list}
          what={texts.roles.what}
          caption={texts.pages.roles}
          columns={toColumns(query)}
          rowsOf={({ roles }) => roles}
          keyOf={({ name }) => name}
          count={describeCount}
          narrow={texts.roles.narrow}
          none={<NoRows page="roles" isFiltered={search !== ''} fill={toHref(['users'])} words={texts.roles} />}
        />
      </div>
    </Page>
  )
}

const describeCount = ({ roles, next }: RolePage): string => texts.roles.count(roles.length, next !== undefined)

const toColumns = (query: Route['query']): readonly Column<Role>[] => [
  {
    label: texts.roles.name,
    sortBy: ({ name }) => name.toLowerCase(),
    render: ({ name }) => (
      <NameLink path={['roles', name]} query={query}>
        {name}
      </NameLink>
    ),
  },
  {
    label: texts.roles.members,
    kind: 'number',
    sortBy: ({ members }) => members,
    render: ({ members }) => texts.roles.memberCount(members),
  },
]
