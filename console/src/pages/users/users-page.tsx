import { api, type ListedUserView, type Query, type UserPageView } from '../../api/client.ts'
import { Page } from '../../frame/page.tsx'
import type { PageProps } from '../../frame/page-row.ts'
import { useIsAdministrator } from '../../frame/session.ts'
import { useShortcuts } from '../../frame/shortcuts.ts'
import { MailButtons } from '../../modules/mail/invite.tsx'
import { closeDialog, openDialog, type Route, toHref, useRoute } from '../../router.ts'
import { shared } from '../../texts.ts'
import { LastSignIn } from '../../ui/last-sign-in.tsx'
import { askEarlyForList, List, NameLink, SelectAll, useList } from '../../ui/list.tsx'
import { ButtonLink, Chips, Heading } from '../../ui/parts.tsx'
import { describeFactors } from '../../ui/second-factor.ts'
import { Command, Empty } from '../../ui/states.tsx'
import type { Column } from '../../ui/table.tsx'
import { Choice, Toolbar } from '../../ui/toolbar.tsx'
import { BatchBar } from './batch.tsx'
import { ExportUsers } from './export-users.tsx'
import { ImportUsers } from './import-users.tsx'
import { toRefusalColumn, useRefusals } from './refusals.tsx'
import { UserStatus } from './status.tsx'
import { texts } from './texts.ts'
import { AddUser } from './user-dialogs.tsx'
import { UserPanel } from './user-panel.tsx'

export function UsersPage({ title }: PageProps) {
  const { do: action } = useRoute().query
  const list = useList('/users', LIST)
  const { query, open, selection } = list
  const { search = '', status = '' } = query
  const refusals = useRefusals()
  useShortcuts({ n: () => openDialog('add') })
  const panel = open !== undefined && <UserPanel key={open} name={open} back={list.back} onChange={list.reload} />
  return (
    <Page panel={panel}>
      <Heading text={texts.intro}>
        <MailButtons />
        <TransferLinks />
        <ButtonLink kind="primary" href={toHref(['users'], { ...query, do: 'add' })}>
          {texts.add}
        </ButtonLink>
      </Heading>
      <div class="wide">
        {selection.keys.size > 0 ? (
          <BatchBar
            names={[...selection.keys]}
            users={list.data?.users ?? []}
            selectAll={<SelectAll list={list} rowsOf={({ users }) => users} keyOf={({ name }) => name} />}
            onClear={() => selection.onChange(new Set())}
            onDone={list.reload}
          />
        ) : (
          <Toolbar name="search" label={texts.search} value={search} found={list.data && describeCount(list.data)}>
            <Choice name="status" label={shared.users.status} value={status} options={Object.entries(texts.filters)} />
          </Toolbar>
        )}
        <List
          list={list}
          what={shared.users.what}
          caption={title}
          columns={toColumns(query, refusals)}
          rowsOf={({ users }) => users}
          keyOf={({ name }) => name}
          canSelect
          count={describeCount}
          narrow={texts.narrow}
          none={<NoUsers search={search} status={status} isCut={list.data?.next !== undefined} />}
        />
      </div>
      <PageDialog action={open === undefined ? action : undefined} onChange={list.reload} />
    </Page>
  )
}

const toFilter = ({ search, status }: Route['query']) => ({ search, status })

const MAX_PAGES = 10

/** A search may end a page before it is full. */
async function loadPages(path: string, filter: Query & { readonly limit: number }, signal: AbortSignal) {
  const read = (after?: string) => api.get<UserPageView>(path, { ...filter, after }, signal)
  const { limit } = filter
  let page = await read()
  for (let pages = 1; page.next !== undefined && page.users.length < limit && pages < MAX_PAGES; pages += 1) {
    const { users, ...rest } = await read(page.next)
    const { total } = page
    page = { ...(total !== undefined && { total }), ...rest, users: [...page.users, ...users].slice(0, limit) }
  }
  return page
}

const LIST = { max: 1000, events: /^(?:user|users|grant|limit|passkey)\./, toFilter, load: loadPages }
askEarlyForList('/users', LIST)

const toColumns = (
  query: Readonly<Record<string, string>>,
  refusals: ReturnType<typeof useRefusals>,
): readonly Column<ListedUserView>[] => [
  {
    label: shared.users.name,
    sortBy: ({ name }) => name.toLowerCase(),
    render: ({ name }) => (
      <NameLink path={['users', name]} query={query}>
        {name}
      </NameLink>
    ),
  },
  { label: shared.users.status, render: (user) => <UserStatus user={user} /> },
  {
    label: shared.users.secondFactor,
    isMinor: true,
    render: (user) => describeFactors(user) || <span class="quiet usual">{shared.users.totpOff}</span>,
  },
  {
    label: shared.users.lastSignIn,
    sortBy: ({ lastSignIn }) => (lastSignIn ? Date.parse(lastSignIn.at) : 0),
    render: ({ lastSignIn }) => <LastSignIn signIn={lastSignIn} />,
  },
  ...(refusals ? [toRefusalColumn(refusals)] : []),
  { label: shared.users.roles, isMinor: true, render: ({ roles }) => roles.length > 0 && <Chips items={roles} /> },
  {
    label: shared.users.databases,
    isMinor: true,
    render: ({ grants }) => Object.keys(grants).length > 0 && <Chips items={Object.keys(grants)} />,
  },
]

const describeCount = ({ users, next, total }: UserPageView): string =>
  next === undefined ? texts.count(users.length) : shared.users.firstOf(users.length, total)

const NoUsers = ({ search, status, isCut }: NoUsersProps) =>
  search !== '' || status !== '' ? (
    <Empty {...describeNone({ search, status, isCut })}>
      <div class="row">
        <ButtonLink href={toHref(['users'])}>{texts.showAll}</ButtonLink>
        {status === 'locked' && <LockoutLink />}
      </div>
    </Empty>
  ) : (
    <Empty title={texts.none} text={texts.noneText}>
      <ButtonLink kind="primary" href={toHref(['users'], { do: 'add' })}>
        {texts.add}
      </ButtonLink>
      <p>{texts.importText}</p>
      <Command text={texts.importCommand} guide={texts.importGuide} />
    </Empty>
  )

interface NoUsersProps {
  readonly search: string
  readonly status: string
  /** Not all users were looked at. */
  readonly isCut: boolean
}

/** A filter alone has no text that could be mistyped. */
const describeNone = ({ search, status, isCut }: NoUsersProps) =>
  search === ''
    ? isCut
      ? { title: texts.noneSoFar, text: texts.narrow }
      : { title: texts.noneFoundIn[status] ?? texts.noneFound, text: texts.noneFoundInText[status] }
    : { title: texts.noneFound, text: texts.noneFoundText }

/** Only administrators read the audit trail. */
const LockoutLink = () =>
  useIsAdministrator() ? (
    <ButtonLink href={toHref(['audit'], { event: 'limit.started' })}>{texts.showLockouts}</ButtonLink>
  ) : null

/** Only administrators see password hashes, so only they import and export. */
function TransferLinks() {
  const { query } = useRoute()
  if (!useIsAdministrator()) return null
  return (
    <>
      <ButtonLink href={toHref(['users'], { ...query, do: 'import' })}>{texts.import}</ButtonLink>
      <ButtonLink href={toHref(['users'], { ...query, do: 'export' })}>{texts.export}</ButtonLink>
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
