import { api } from '../../api/client.ts'
import type { Administrator } from '../../api/types.ts'
import { useResource } from '../../api/use-resource.ts'
import { useLiveReload } from '../../frame/live.ts'
import { Page } from '../../frame/page.tsx'
import { useSession } from '../../frame/session.ts'
import { toCount } from '../../numbers.ts'
import { toHref, useRoute } from '../../router.ts'
import { texts } from '../../texts.ts'
import { ButtonLink } from '../../ui/button.tsx'
import { LastSignIn } from '../../ui/last-sign-in.tsx'
import { NameLink } from '../../ui/list.tsx'
import { Badge, Heading } from '../../ui/parts.tsx'
import { Loaded } from '../../ui/states.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { AddAdministrator } from './add-administrator.tsx'
import { AdministratorPanel } from './administrator-panel.tsx'

export function AdministratorsPage() {
  const { path, query } = useRoute()
  const own = useSession().name
  const [, name] = path
  const list = useResource('administrators', (signal) =>
    api.get<{ readonly administrators: readonly Administrator[] }>('/administrators', {}, signal),
  )
  useLiveReload(({ event }) => event.startsWith('administrator.'), list.reload)
  const isLast = list.data?.administrators.length === 1
  const found = list.data?.administrators.find((each) => each.name === name)
  const panel = found && <AdministratorPanel key={name} administrator={found} isLast={isLast} onChange={list.reload} />
  return (
    <Page panel={panel}>
      <Heading text={texts.administrators.intro}>
        <ButtonLink kind="primary" href={toHref(['administrators'], { do: 'add' })}>
          {texts.administrators.add}
        </ButtonLink>
      </Heading>
      <div class="wide">
        <Loaded resource={list} what={texts.administrators.what} shape="rows">
          {({ administrators }) => (
            <Table
              caption={texts.pages.administrators}
              columns={toColumns(own)}
              rows={administrators.toSorted((one, other) => one.name.localeCompare(other.name))}
              keyOf={(each) => each.name}
              current={name}
            />
          )}
        </Loaded>
      </div>
      {name === undefined && query['do'] === 'add' && <AddAdministrator onAdded={list.reload} />}
    </Page>
  )
}

const toColumns = (own: string): readonly Column<Administrator>[] => [
  {
    label: texts.users.name,
    render: ({ name }) => (
      <>
        <NameLink path={['administrators', name]}>{name}</NameLink>{' '}
        {name === own && <Badge tone="accent">{texts.administrators.isYou}</Badge>}
      </>
    ),
  },
  { label: texts.users.lastSignIn, render: ({ lastSignIn }) => <LastSignIn signIn={lastSignIn} /> },
  {
    label: texts.users.secondFactor,
    render: ({ totp }) => (totp ? texts.users.totpOn : <Badge tone="warning">{texts.users.totpOff}</Badge>),
  },
  { label: texts.sessions.title, kind: 'number', render: ({ sessions }) => toCount(sessions) },
]
