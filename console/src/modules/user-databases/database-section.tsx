import type { UserDatabaseView } from '../../../../src/modules/user-databases/schemas.ts'
import { api, toPath } from '../../api/client.ts'
import { useResource } from '../../api/use-resource.ts'
import type { EditedUser } from '../../pages/users/rights-section.tsx'
import { toHref } from '../../router.ts'
import { Badge, Section } from '../../ui/parts.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { texts } from './texts.ts'

/** The user's own databases. If the server creates none, nothing is shown. */
export function DatabaseSection({ user: { name, sessions } }: EditedUser) {
  const path = toPath('users', name, 'databases')
  const list = useResource(
    `${path} ${sessions}`,
    (signal) => api.get<{ readonly databases: readonly UserDatabaseView[] }>(path, {}, signal),
    { keepsLast: true },
  )
  const databases = list.data?.databases ?? []
  if (databases.length === 0) return null
  return (
    <Section title={texts.title}>
      <Table
        caption={texts.title}
        columns={COLUMNS}
        rows={databases}
        keyOf={({ server, database }) => `${server} ${database}`}
      />
    </Section>
  )
}

const COLUMNS: readonly Column<UserDatabaseView>[] = [
  {
    label: texts.database,
    render: ({ server, database }) => (
      <div class="two-lines">
        <a class="mono cut" href={toHref(['databases', database], { search: database })}>
          {database}
        </a>
        <div class="quiet small">{server}</div>
      </div>
    ),
  },
  {
    label: texts.state,
    render: ({ state, reason }) => (
      <div class="two-lines">
        <Badge {...(state === 'ready' ? {} : { tone: 'warning' })}>{texts.states[state]}</Badge>
        {reason !== undefined && <div class="quiet small">{reason}</div>}
      </div>
    ),
  },
]
