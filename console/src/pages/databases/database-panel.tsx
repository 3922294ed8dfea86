import {
  api,
  type DatabaseView,
  type GrantLevelView,
  type ListedUserView,
  toPath,
  type UserPageView,
} from '../../api/client.ts'
import { useResource } from '../../api/use-resource.ts'
import { shared } from '../../texts.ts'
import { NameLink } from '../../ui/list.tsx'
import { Section } from '../../ui/parts.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { notify } from '../../ui/toast.tsx'
import { AddGrant, toRemoval } from '../users/rights-section.tsx'
import { SecurityForm } from './security-form.tsx'
import { texts } from './texts.ts'

interface DatabasePanelProps {
  readonly name: string
  /** `undefined`: the list does not have it. */
  readonly database: DatabaseView | undefined
  /** Whether grants on it are shown. */
  readonly hasGrants: boolean
  readonly back: string
  readonly onChange: () => void
}

export const DatabasePanel = ({ name, database, hasGrants, back, onChange }: DatabasePanelProps) => (
  <SidePanel title={name === '*' ? texts.all : name} back={back}>
    {!database && <Empty title={texts.notListed} text={texts.notListedText} />}
    {database?.security && <SecurityForm name={name} security={database.security} onChange={onChange} />}
    {database?.securityProblem && <p class="notice warning">{texts.unreadableText(database.securityProblem)}</p>}
    {database && hasGrants && <Grants name={name} version={database.users} onChange={onChange} />}
  </SidePanel>
)

const MAX_USERS = 100

interface GrantsProps {
  readonly name: string
  /** Loaded again with every other number of users. */
  readonly version: number
  readonly onChange: () => void
}

function Grants({ name, version, onChange }: GrantsProps) {
  const list = useResource(
    `${name} ${version}`,
    (signal) => api.get<UserPageView>('/users', { database: name, limit: MAX_USERS }, signal),
    { keepsLast: true },
  )
  const set = async (user: string, level: GrantLevelView | null) => {
    await api.put(toPath('users', user, 'grants'), { database: name, level })
    notify(shared.users.grantChanged(name, level))
    list.reload()
    onChange()
  }
  return (
    <Section title={texts.grants}>
      <Loaded resource={list} what={shared.users.what}>
        {({ users, next, total }) => (
          <>
            {users.length === 0 ? (
              <p class="quiet">{texts.noGrants}</p>
            ) : (
              <Table caption={texts.grants} columns={toColumns(name, set)} rows={users} keyOf={(user) => user.name} />
            )}
            {next !== undefined && <p class="quiet">{shared.users.firstOf(users.length, total)}</p>}
          </>
        )}
      </Loaded>
      <AddGrant label={texts.userName} onAdd={set} />
    </Section>
  )
}

type SetGrant = (user: string, level: GrantLevelView | null) => Promise<void>

const toColumns = (database: string, set: SetGrant): readonly Column<ListedUserView>[] => [
  {
    label: shared.users.name,
    render: ({ name }) => <NameLink path={['users', name]}>{name}</NameLink>,
  },
  {
    label: shared.users.level,
    render: ({ grants }) => {
      const level = grants[database]?.level
      return level === undefined ? texts.onCollections : shared.users.levels[level]
    },
  },
  toRemoval(({ name, grants }) =>
    grants[database]?.level ? [texts.removeGrantOf(name), () => set(name, null)] : undefined,
  ),
]
