import { api } from '../../api/client.ts'
import type { Role, RolePage } from '../../api/types.ts'
import { useResource } from '../../api/use-resource.ts'
import { useLiveReload } from '../../frame/live.ts'
import { Page } from '../../frame/page.tsx'
import { type Route, toHref, useRoute } from '../../router.ts'
import { texts } from '../../texts.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { ListEnd, STEP } from '../../ui/list-end.tsx'
import { Heading } from '../../ui/parts.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { Toolbar } from '../../ui/toolbar.tsx'
import { useDebounced } from '../../ui/use-debounced.ts'
import { RolePanel } from './role-panel.tsx'

const MAX_SHOWN = 500

export function RolesPage() {
  const { path, query } = useRoute()
  const [, name] = path
  const { search = '', sort = '' } = query
  const shown = Number(query['count'] ?? STEP)
  const settled = useDebounced(search)
  const filter = { search: settled, limit: sort === '' ? Math.min(shown, MAX_SHOWN) : MAX_SHOWN }
  const list = useResource(JSON.stringify(filter), (signal) => api.get<RolePage>('/roles', filter, signal), {
    keepsLast: true,
  })
  useLiveReload(({ event }) => /^users?\./.test(event), list.reload)
  return (
    <Page panel={name !== undefined && <RolePanel key={name} name={name} back={toHref(['roles'], query)} />}>
      <Heading text={texts.roles.intro} />
      <div class="wide">
        <Toolbar
          name="search"
          label={texts.roles.search}
          value={search}
          found={list.data && describeCount(list.data)}
        />
        <Loaded resource={list} what={texts.roles.what} shape="rows">
          {(found) =>
            found.roles.length === 0 ? (
              <NoRoles isFiltered={search !== ''} />
            ) : (
              <>
                <Table
                  caption={texts.pages.roles}
                  columns={toColumns(query)}
                  rows={found.roles}
                  keyOf={(role) => role.name}
                  current={name}
                  sort={sort}
                />
                <ListEnd
                  text={describeCount(found)}
                  hasMore={found.next !== undefined}
                  shown={shown}
                  max={MAX_SHOWN}
                  narrow={texts.roles.narrow}
                />
              </>
            )
          }
        </Loaded>
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
      <a class="name" href={toHref(['roles', name], query)} title={name}>
        {name}
      </a>
    ),
  },
  {
    label: texts.roles.members,
    kind: 'number',
    sortBy: ({ members }) => members,
    render: ({ members }) => texts.roles.memberCount(members),
  },
]

const NoRoles = ({ isFiltered }: { readonly isFiltered: boolean }) => (
  <div class="card">
    {isFiltered ? (
      <Empty title={texts.roles.noneFound} text={texts.roles.noneFoundText}>
        <ButtonLink href={toHref(['roles'])}>{texts.roles.showAll}</ButtonLink>
      </Empty>
    ) : (
      <Empty title={texts.roles.none} text={texts.roles.noneText} />
    )}
  </div>
)
