import {
  api,
  type DatabasePageView,
  isNotFound,
  type ListedUserView,
  type RoleDetailsView,
  toPath,
  type UserPageView,
} from '../../api/client.ts'
import { useResource } from '../../api/use-resource.ts'
import { useLiveReload } from '../../frame/live.ts'
import { toCount } from '../../numbers.ts'
import { toHref } from '../../router.ts'
import { shared } from '../../texts.ts'
import { LastSignIn } from '../../ui/last-sign-in.tsx'
import { NameLink } from '../../ui/list.tsx'
import { ButtonLink, Section } from '../../ui/parts.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { DoorRules } from '../users/access-section.tsx'
import { UserStatus } from '../users/status.tsx'
import { texts } from './texts.ts'

const MAX_MEMBERS = 20

/** The members of a role, and what they reach. */
export function RolePanel({ name, back }: Readonly<{ name: string; back: string }>) {
  const role = useResource(name, (signal) => api.get<RoleDetailsView>(toPath('roles', name), {}, signal))
  const members = useResource(`members of ${name}`, (signal) =>
    api.get<UserPageView>('/users', { role: name, limit: MAX_MEMBERS }, signal),
  )
  useLiveReload(
    ({ event }) => /^(?:users?|grant)\./.test(event),
    () => {
      role.reload()
      members.reload()
    },
  )
  if (isNotFound(role.error))
    return (
      <SidePanel title={name} back={back}>
        <Empty title={texts.notFound(name)} text={texts.notFoundText} />
      </SidePanel>
    )
  return (
    <SidePanel title={name} back={back}>
      <Section
        title={texts.members}
        actions={<ButtonLink href={toHref(['users'], { search: name })}>{texts.allMembers}</ButtonLink>}
      >
        <Loaded resource={members} what={shared.users.what}>
          {(page) => (
            <>
              <Table caption={texts.members} columns={MEMBER_COLUMNS} rows={page.users} keyOf={(user) => user.name} />
              {page.next !== undefined && <p class="quiet">{shared.users.firstOf(page.users.length, page.total)}</p>}
            </>
          )}
        </Loaded>
      </Section>
      <Loaded resource={role} what={texts.whatOne(name)}>
        {(details) => <Reach role={details} />}
      </Loaded>
      <NamedIn role={name} />
    </SidePanel>
  )
}

const MEMBER_COLUMNS: readonly Column<ListedUserView>[] = [
  {
    label: shared.users.name,
    render: ({ name }) => <NameLink path={['users', name]}>{name}</NameLink>,
  },
  { label: shared.users.status, render: (user) => <UserStatus user={user} /> },
  { label: shared.users.lastSignIn, render: ({ lastSignIn }) => <LastSignIn signIn={lastSignIn} /> },
]

function Reach({ role: { isUserAdmin, rules, grants, examined, isComplete } }: { readonly role: RoleDetailsView }) {
  return (
    <>
      <Section title={texts.reach}>
        {isUserAdmin && <p>{texts.userAdmin}</p>}
        <DoorRules door="document" rules={rules} />
      </Section>
      <Section title={texts.grants}>
        {grants.length === 0 ? (
          <p class="quiet">{texts.noGrants}</p>
        ) : (
          <Table caption={texts.grants} columns={GRANT_COLUMNS} rows={grants} keyOf={({ database }) => database} />
        )}
        {!isComplete && <p class="quiet">{texts.grantsOfFirst(examined)}</p>}
      </Section>
    </>
  )
}

const MAX_DATABASES = 100

/** The databases whose `_security` names the role. Nothing where no CouchDB is behind the door. */
function NamedIn({ role }: { readonly role: string }) {
  const { data } = useResource(`databases of ${role}`, (signal) =>
    api.get<DatabasePageView>('/databases', { role, limit: MAX_DATABASES }, signal),
  )
  if (!data?.couchdb.isSet) return null
  return (
    <Section title={texts.ofRole}>
      {data.couchdb.problem && <p class="notice warning">{data.couchdb.problem}</p>}
      {data.databases.length === 0 && !data.couchdb.problem && <p class="quiet">{texts.noneOfRole}</p>}
      <div class="row">
        {data.databases.map(({ name }) => (
          <a key={name} class="mono" href={toHref(['databases', name])}>
            {name}
          </a>
        ))}
      </div>
      {data.next !== undefined && <p class="quiet">{texts.ofFirst(MAX_DATABASES)}</p>}
    </Section>
  )
}

type GrantCount = RoleDetailsView['grants'][number]

/** The numbers of members with each level. Zero is left out. */
const toCountColumn = (label: string, count: (row: GrantCount) => number): Column<GrantCount> => ({
  label,
  kind: 'number',
  render: (row) => count(row) > 0 && toCount(count(row)),
})

const GRANT_COLUMNS: readonly Column<GrantCount>[] = [
  {
    label: shared.users.database,
    render: ({ database }) => (database === '*' ? texts.allDatabases : <span class="mono">{database}</span>),
  },
  toCountColumn(shared.users.levels.rw, ({ rw }) => rw),
  toCountColumn(shared.users.levels.ro, ({ ro }) => ro),
  toCountColumn(shared.users.levels.none, ({ none }) => none),
  toCountColumn(texts.onCollections, ({ other }) => other),
]
