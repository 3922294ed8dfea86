import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import type { FactorPolicy, UnprotectedAccount } from '../../api/types.ts'
import { useResource } from '../../api/use-resource.ts'
import { useLiveReload } from '../../frame/live.ts'
import { Page } from '../../frame/page.tsx'
import { useSession } from '../../frame/session.ts'
import { texts } from '../../texts.ts'
import { Button } from '../../ui/button.tsx'
import { CheckField, Problem } from '../../ui/field.tsx'
import { LastSignIn } from '../../ui/last-sign-in.tsx'
import { NameLink } from '../../ui/list.tsx'
import { NamesField } from '../../ui/names-field.tsx'
import { Card, Chips, Heading } from '../../ui/parts.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { notify } from '../../ui/toast.tsx'
import { useSubmit } from '../../ui/use-submit.ts'

/** The role of administrators. */
const ADMINISTRATORS = '_admin'

/** Who needs a second factor, and who has none. */
export function PolicyPage() {
  const policy = useResource('policy', (signal) => api.get<FactorPolicy>('/second-factor', {}, signal))
  useLiveReload(({ event }) => /^(?:users?|administrator|option|configuration)\./.test(event), policy.reload)
  return (
    <Page>
      <Heading text={texts.policy.intro} />
      <Loaded resource={policy} what={texts.policy.what} shape="cards">
        {(data) => (
          <div class="stack wide">
            <PolicyForm key={data.roles.join()} policy={data} onChange={policy.reload} />
            <Missing policy={data} />
          </div>
        )}
      </Loaded>
    </Page>
  )
}

interface PolicyFormProps {
  readonly policy: FactorPolicy
  readonly onChange: () => void
}

function PolicyForm({ policy: { roles, missing }, onChange }: PolicyFormProps) {
  const own = useSession().name
  const [isForAdministrators, setForAdministrators] = useState(roles.includes(ADMINISTRATORS))
  const [others, setOthers] = useState<readonly string[]>(roles.filter((role) => role !== ADMINISTRATORS))
  const value = [...(isForAdministrators ? [ADMINISTRATORS] : []), ...others].join(', ')
  const base = roles.join(', ')
  const isNew = isForAdministrators && !roles.includes(ADMINISTRATORS)
  const { submit, isBusy, problem } = useSubmit(async () => {
    await api.put('/settings/admin/second-factor-roles', { value, expected: base })
    // an administrator without a second factor sees only the page that sets it up from now on
    if (isNew || missing.some(({ name }) => name === own)) location.reload()
    notify(texts.policy.saved)
    onChange()
  })
  return (
    <Card title={texts.policy.title}>
      <form class="inside stack" onSubmit={submit}>
        <CheckField
          label={texts.policy.administrators}
          isChecked={isForAdministrators}
          onChange={setForAdministrators}
        />
        <NamesField label={texts.policy.roles} names={others} onNames={setOthers} of="roles" />
        <p class="quiet">
          {texts.policy.effect} {texts.policy.tokens}
        </p>
        {isNew && <p class="notice warning">{texts.policy.ownEffect}</p>}
        <Problem text={problem} />
        <div class="row">
          <Button type="submit" kind="primary" isBusy={isBusy} disabled={value === base}>
            {texts.policy.save}
          </Button>
        </div>
      </form>
    </Card>
  )
}

function Missing({ policy: { roles, missing, isComplete } }: { readonly policy: FactorPolicy }) {
  if (missing.length === 0)
    return (
      <div class="card">
        {roles.length === 0 ? (
          <Empty title={texts.policy.noPolicy} text={texts.policy.noPolicyText} />
        ) : (
          <Empty title={texts.policy.none} />
        )}
      </div>
    )
  return (
    <section aria-label={texts.policy.missing} class="stack">
      <h2>
        {texts.policy.missing}: {texts.policy.missingCount(missing.length, isComplete)}
      </h2>
      <Table caption={texts.policy.missing} columns={COLUMNS} rows={missing} keyOf={({ name }) => name} />
    </section>
  )
}

const COLUMNS: readonly Column<UnprotectedAccount>[] = [
  {
    label: texts.users.name,
    render: ({ name, isAdministrator }) => (
      <NameLink path={[isAdministrator ? 'administrators' : 'users', name]}>{name}</NameLink>
    ),
  },
  {
    label: texts.policy.because,
    render: ({ roles, isAdministrator }) =>
      isAdministrator ? texts.policy.administrator : <Chips items={roles.map(texts.databases.role)} />,
  },
  { label: texts.users.lastSignIn, render: ({ lastSignIn }) => <LastSignIn signIn={lastSignIn} /> },
]
