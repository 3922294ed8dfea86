import {
  api,
  type DatabasePage,
  isNotFound,
  type RoleDetails,
  toPath,
  type User,
  type UserPage,
} from '../../api/client.ts'
import { useResource } from '../../api/use-resource.ts'
import { useLiveReload } from '../../frame/live.ts'
import { toCount } from '../../numbers.ts'
import { toHref } from '../../router.ts'
import { texts } from '../../texts.ts'
import { LastSignIn } from '../../ui/last-sign-in.tsx'
import { NameLink } from '../../ui/list.tsx'
import { ButtonLink, Section } from '../../ui/parts.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { DoorRules } from '../users/access-section.tsx'
import { UserStatus } from '../users/status.tsx'

const MAX_MEMBERS = 20

/** The members of a role, and what they reach. */
export function RolePanel({ name, back }: Readonly<{ name: string; back: string }>) {
  const role = useResource(name, (signal) => api.get<RoleDetails>(toPath('roles', name), {}, signal))
  const members = useResource(`members of ${name}`, (signal) =>
    api.get<UserPage>('/users', { role: name, limit: MAX_MEMBERS }, signal),
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
        <Empty title={texts.roles.notFound(name)} text={texts.roles.notFoundText} />
      </SidePanel>
    )
  return (
    <SidePanel title={name} back={back}>
      <Section
        title={texts.roles.members}
        actions={<ButtonLink href={toHref(['users'], { search: name })}>{texts.roles.allMembers}</ButtonLink>}
      >
        <Loaded resource={members} what={texts.users.what}>
          {(page) => (
            <>
              <Table
                caption={texts.roles.members}
                columns={MEMBER_COLUMNS}
                rows={page.users}
                keyOf={(user) => user.name}
              />
              {page.next !== undefined && <p class="quiet">{texts.users.firstOf(page.users.length, page.total)}</p>}
            </>
          )}
        </Loaded>
      </Section>
      <Loaded resource={role} what={texts.roles.whatOne(name)}>
        {(details) => <Reach role={details} />}
      </Loaded>
      <NamedIn role={name} />
    </SidePanel>
  )
}

const MEMBER_COLUMNS: readonly Column<User>[] = [
  {
    label: texts.users.name,
    render: ({ name }) => <NameLink path={['users', name]}>{name}</NameLink>,
  },
  { label: texts.users.status, render: (user) => <UserStatus user={user} /> },
  { label: texts.users.lastSignIn, render: ({ lastSignIn }) => <LastSignIn signIn={lastSignIn} /> },
]

function Reach({ role: { isUserAdmin, rules, grants, examined, isComplete } }: { readonly role: RoleDetails }) {
  return (
    <>
      <Section title={texts.roles.reach}>
        {isUserAdmin && <p>{texts.roles.userAdmin}</p>}
        <DoorRules door="document" rules={rules} />
      </Section>
      <Section title={texts.roles.grants}>
        {grants.length === 0 ? (
          <p class="quiet">{texts.roles.noGrants}</p>
        ) : (
          <Table
            caption={texts.roles.grants}
            columns={GRANT_COLUMNS}
            rows={grants}
            keyOf={({ database }) => database}
          />
        )}
        {!isComplete && <p class="quiet">{texts.roles.grantsOfFirst(examined)}</p>}
      </Section>
    </>
  )
}

const MAX_DATABASES = 100

/** The databases whose `_security` names the role. Nothing where no CouchDB is behind the door. */
function NamedIn({ role }: { readonly role: string }) {
  const { data } = useResource(`databases of ${role}`, (signal) =>
    api.get<DatabasePage>('/databases', { role, limit: MAX_DATABASES }, signal),
  )
  if (!data?.couchdb.isSet) return null
  return (
    <Section title={texts.databases.ofRole}>
      {data.couchdb.problem && <p class="notice warning">{data.couchdb.problem}</p>}
      {data.databases.length === 0 && !data.couchdb.problem && <p class="quiet">{texts.databases.noneOfRole}</p>}
      <div class="row">
        {data.databases.map(({ name }) => (
          <a key={name} class="mono" href={toHref(['databases', name])}>
            {name}
          </a>
        ))}
      </div>
      {data.next !== undefined && <p class="quiet">{texts.databases.ofFirst(MAX_DATABASES)}</p>}
    </Section>
  )
}

type GrantCount = RoleDetails['grants'][number]

/** The numbers of members with each level. Zero is left out. */
const toCountColumn = (label: string, count: (row: GrantCount) => number): Column<GrantCount> => ({
  label,
  kind: 'number',
  render: (row) => count(row) > 0 && toCount(count(row)),
})

const GRANT_COLUMNS: readonly Column<GrantCount>[] = [
  {
    label: texts.users.database,
    render: ({ database }) => (database === '*' ? texts.roles.allDatabases : <span class="mono">{database}</span>),
  },
  toCountColumn(texts.users.levels.rw, ({ rw }) => rw),
  toCountColumn(texts.users.levels.ro, ({ ro }) => ro),
  toCountColumn(texts.users.levels.none, ({ none }) => none),
  toCountColumn(texts.roles.onCollections, ({ other }) => other),
]
