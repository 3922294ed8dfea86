import { useEffect, useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import type { User, UserPage } from '../../api/types.ts'
import { type Resource, useResource } from '../../api/use-resource.ts'
import { useLiveReload } from '../../frame/live.ts'
import { Page } from '../../frame/page.tsx'
import { useIsAdministrator } from '../../frame/session.ts'
import { useShortcuts } from '../../frame/shortcuts.ts'
import { closeDialog, openDialog, toHref, useRoute } from '../../router.ts'
import { texts } from '../../texts.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { LastSignIn } from '../../ui/last-sign-in.tsx'
import { ListEnd, STEP } from '../../ui/list-end.tsx'
import { Chips, Heading } from '../../ui/parts.tsx'
import { Command, Empty, Loaded } from '../../ui/states.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { Choice, Toolbar } from '../../ui/toolbar.tsx'
import { useDebounced } from '../../ui/use-debounced.ts'
import { AddUser } from './add-user.tsx'
import { BatchBar } from './batch.tsx'
import { ExportUsers } from './export-users.tsx'
import { ImportUsers } from './import-users.tsx'
import { toRefusalColumn, useRefusals } from './refusals.tsx'
import { UserStatus } from './status.tsx'
import { UserPanel } from './user-panel.tsx'

export function UsersPage() {
  const { path, query } = useRoute()
  const [, name] = path
  const { search = '', status = '', sort = '' } = query
  const shown = Number(query['count'] ?? STEP)
  const list = useUserList(search, status, sort === '' ? shown : MAX_SHOWN)
  const refusals = useRefusals()
  useLiveReload(({ event }) => /^(?:user|users|grant|limit)\./.test(event), list.reload)
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  useEffect(() => setSelected(new Set()), [search, status])
  useShortcuts({ n: () => openDialog('add') })
  const { do: _action, ...kept } = query
  const panel = name !== undefined && (
    <UserPanel key={name} name={name} back={toHref(['users'], kept)} onChange={list.reload} />
  )
  return (
    <Page panel={panel}>
      <Heading text={texts.users.intro}>
        <TransferLinks />
        <ButtonLink kind="primary" href={toHref(['users'], { ...kept, do: 'add' })}>
          {texts.users.add}
        </ButtonLink>
      </Heading>
      <div class="wide">
        {selected.size > 0 ? (
          <BatchBar
            names={[...selected]}
            users={list.data?.users ?? []}
            onClear={() => setSelected(new Set())}
            onDone={list.reload}
          />
        ) : (
          <Toolbar
            name="search"
            label={texts.users.search}
            value={search}
            found={list.data && describeCount(list.data)}
          >
            <Choice
              name="status"
              label={texts.users.status}
              value={status}
              options={Object.entries(texts.users.filters)}
            />
          </Toolbar>
        )}
        <Loaded resource={list} what={texts.users.what} shape="rows">
          {(found) =>
            found.users.length === 0 ? (
              <NoUsers search={search} status={status} />
            ) : (
              <>
                <Table
                  caption={texts.pages.users}
                  columns={toColumns(kept, refusals)}
                  rows={found.users}
                  keyOf={(user) => user.name}
                  current={name}
                  sort={sort}
                  selection={{ keys: selected, onChange: setSelected }}
                />
                <ListEnd
                  text={describeCount(found)}
                  hasMore={found.next !== undefined}
                  shown={shown}
                  max={MAX_SHOWN}
                  narrow={texts.users.narrow}
                />
              </>
            )
          }
        </Loaded>
      </div>
      <PageDialog action={name === undefined ? query['do'] : undefined} onChange={list.reload} />
    </Page>
  )
}

const MAX_SHOWN = 1000
const MAX_PAGES = 10

/** The first users that match. As many as the address says, so that a reload shows the same. */
function useUserList(search: string, status: string, shown: number): Resource<UserPage> {
  const settled = useDebounced(search)
  const limit = Math.min(shown, MAX_SHOWN)
  const load = async (signal: AbortSignal) => {
    const read = (after?: string) => api.get<UserPage>('/users', { search: settled, status, limit, after }, signal)
    let page = await read()
    // a search may end a page before it is full
    for (let pages = 1; page.next !== undefined && page.users.length < limit && pages < MAX_PAGES; pages += 1) {
      const { users, ...rest } = await read(page.next)
      const { total } = page
      page = { ...(total !== undefined && { total }), ...rest, users: [...page.users, ...users].slice(0, limit) }
    }
    return page
  }
  return useResource(JSON.stringify([settled, status, limit]), load, { keepsLast: true })
}

const toColumns = (
  query: Readonly<Record<string, string>>,
  refusals: ReturnType<typeof useRefusals>,
): readonly Column<User>[] => [
  {
    label: texts.users.name,
    sortBy: ({ name }) => name.toLowerCase(),
    render: ({ name }) => (
      <a class="name" href={toHref(['users', name], query)} title={name}>
        {name}
      </a>
    ),
  },
  { label: texts.users.status, render: (user) => <UserStatus user={user} /> },
  {
    label: texts.users.lastSignIn,
    sortBy: ({ lastSignIn }) => (lastSignIn ? Date.parse(lastSignIn.at) : 0),
    render: ({ lastSignIn }) => <LastSignIn signIn={lastSignIn} />,
  },
  ...(refusals ? [toRefusalColumn(refusals)] : []),
  { label: texts.users.roles, isMinor: true, render: ({ roles }) => roles.length > 0 && <Chips items={roles} /> },
  {
    label: texts.users.databases,
    isMinor: true,
    render: ({ grants }) => Object.keys(grants).length > 0 && <Chips items={Object.keys(grants)} />,
  },
]

const describeCount = ({ users, next, total }: UserPage): string =>
  next === undefined ? texts.users.count(users.length) : texts.users.firstOf(users.length, total)

interface NoUsersProps {
  readonly search: string
  readonly status: string
}

const NoUsers = ({ search, status }: NoUsersProps) =>
  search !== '' || status !== '' ? (
    <div class="card">
      <Empty {...describeNone(search, status)}>
        <div class="row">
          <ButtonLink href={toHref(['users'])}>{texts.users.showAll}</ButtonLink>
          {status === 'locked' && <LockoutLink />}
        </div>
      </Empty>
    </div>
  ) : (
    <div class="card">
      <Empty title={texts.users.none} text={texts.users.noneText}>
        <ButtonLink kind="primary" href={toHref(['users'], { do: 'add' })}>
          {texts.users.add}
        </ButtonLink>
        <p>{texts.users.importText}</p>
        <Command text={texts.users.importCommand} guide={texts.users.importGuide} />
      </Empty>
    </div>
  )

/** A filter alone has no text that could be mistyped. */
const describeNone = (search: string, status: string) =>
  search === ''
    ? { title: texts.users.noneFoundIn[status] ?? texts.users.noneFound, text: texts.users.noneFoundInText[status] }
    : { title: texts.users.noneFound, text: texts.users.noneFoundText }

/** Only administrators read the audit trail. */
const LockoutLink = () =>
  useIsAdministrator() ? (
    <ButtonLink href={toHref(['audit'], { event: 'limit.started' })}>{texts.users.showLockouts}</ButtonLink>
  ) : null

/** Only administrators see password hashes, so only they import and export. */
function TransferLinks() {
  const { query } = useRoute()
  if (!useIsAdministrator()) return null
  return (
    <>
      <ButtonLink href={toHref(['users'], { ...query, do: 'import' })}>{texts.users.import}</ButtonLink>
      <ButtonLink href={toHref(['users'], { ...query, do: 'export' })}>{texts.users.export}</ButtonLink>
    </>
  )
}

interface PageDialogProps {
  readonly action: string | undefined
  readonly onChange: () => void
}

function PageDialog({ action, onChange }: PageDialogProps) {
  if (action === 'add') return <AddUser onAdded={onChange} />
  if (action === 'import') return <ImportUsers onClose={closeDialog} onChange={onChange} />
  if (action === 'export') return <ExportUsers onClose={closeDialog} />
  return null
}
