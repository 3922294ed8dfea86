import { useState } from 'preact/hooks'
import { api, type ListedAdministratorView } from '../../api/client.ts'
import { useResource } from '../../api/use-resource.ts'
import { useLiveReload } from '../../frame/live.ts'
import { Page } from '../../frame/page.tsx'
import type { PageProps } from '../../frame/page-row.ts'
import { useSession } from '../../frame/session.ts'
import { toCount } from '../../numbers.ts'
import { closeDialog, navigate, toHref, useRoute } from '../../router.ts'
import { shared } from '../../texts.ts'
import { FormDialog } from '../../ui/dialog.tsx'
import { LastSignIn } from '../../ui/last-sign-in.tsx'
import { NameLink } from '../../ui/list.tsx'
import { NameField } from '../../ui/name-field.tsx'
import { NewPassword, useNewPassword } from '../../ui/new-password.tsx'
import { Badge, ButtonLink, Heading } from '../../ui/parts.tsx'
import { describeFactors } from '../../ui/second-factor.ts'
import { Loaded } from '../../ui/states.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { notify } from '../../ui/toast.tsx'
import { AdministratorPanel } from './administrator-panel.tsx'
import { texts } from './texts.ts'

export function AdministratorsPage({ title }: PageProps) {
  const { path, query } = useRoute()
  const own = useSession().name
  const [, name] = path
  const list = useResource('administrators', (signal) =>
    api.get<{ readonly administrators: readonly ListedAdministratorView[] }>('/administrators', {}, signal),
  )
  useLiveReload(({ event }) => /^(?:administrator|passkey)\./.test(event), list.reload)
  const isLast = list.data?.administrators.length === 1
  const found = list.data?.administrators.find((each) => each.name === name)
  const panel = found && <AdministratorPanel key={name} administrator={found} isLast={isLast} onChange={list.reload} />
  return (
    <Page panel={panel}>
      <Heading text={texts.intro}>
        <ButtonLink kind="primary" href={toHref(['administrators'], { do: 'add' })}>
          {texts.add}
        </ButtonLink>
      </Heading>
      <div class="wide">
        <Loaded resource={list} what={texts.what} shape="rows">
          {({ administrators }) => (
            <Table
              caption={title}
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

const toColumns = (own: string): readonly Column<ListedAdministratorView>[] => [
  {
    label: shared.users.name,
    render: ({ name }) => (
      <>
        <NameLink path={['administrators', name]}>{name}</NameLink>{' '}
        {name === own && <Badge tone="accent">{texts.isYou}</Badge>}
      </>
    ),
  },
  { label: shared.users.lastSignIn, render: ({ lastSignIn }) => <LastSignIn signIn={lastSignIn} /> },
  {
    label: shared.users.secondFactor,
    render: (each) => describeFactors(each) || <Badge tone="warning">{shared.users.totpOff}</Badge>,
  },
  { label: shared.sessions.title, kind: 'number', render: ({ sessions }) => toCount(sessions) },
]

function AddAdministrator({ onAdded }: { readonly onAdded: () => void }) {
  const [name, setName] = useState('')
  const password = useNewPassword()
  const add = async () => {
    await api.post('/administrators', { name, password: password.value })
    notify(texts.added(name))
    onAdded()
    navigate(toHref(['administrators', name]))
  }
  return (
    <FormDialog
      title={texts.add}
      action={texts.add}
      isReady={name !== '' && password.value !== '' && !password.isRefused}
      onClose={closeDialog}
      onSubmit={add}
    >
      <p>{texts.addText}</p>
      <NameField value={name} onValue={setName} />
      <NewPassword label={shared.users.password} {...password.field} owner={name} />
    </FormDialog>
  )
}
