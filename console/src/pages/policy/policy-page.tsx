import { api, type FactorPolicyView, type UnprotectedAccountView } from '../../api/client.ts'
import { useResource } from '../../api/use-resource.ts'
import { useLiveReload } from '../../frame/live.ts'
import { Page } from '../../frame/page.tsx'
import { useSession } from '../../frame/session.ts'
import { toHref } from '../../router.ts'
import { shared } from '../../texts.ts'
import { CheckField, Problem, useSubmit } from '../../ui/field.tsx'
import { LastSignIn } from '../../ui/last-sign-in.tsx'
import { NameLink } from '../../ui/list.tsx'
import { NamesField } from '../../ui/names-field.tsx'
import { Button, ButtonLink, Card, Chips, Heading } from '../../ui/parts.tsx'
import { Overridden, useSharedValue } from '../../ui/shared-value.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { notify } from '../../ui/toast.tsx'
import { texts } from './texts.ts'

/** The role of administrators. */
const ADMINISTRATORS = '_admin'

const toRoles = (lines: string): readonly string[] => lines.split('\n').filter((role) => role !== '')

const toLabel = (roles: readonly string[]): string =>
  roles.map((role) => (role === ADMINISTRATORS ? texts.administrators : role)).join(', ')

/** Who needs a second factor, and who has none. */
export function PolicyPage() {
  const policy = useResource('policy', (signal) => api.get<FactorPolicyView>('/second-factor', {}, signal))
  useLiveReload(({ event }) => /^(?:users?|administrator|option|configuration)\./.test(event), policy.reload)
  return (
    <Page>
      <Heading text={texts.intro}>
        <ButtonLink href={toHref(['users'], { status: 'second-factor' })}>{texts.with}</ButtonLink>
        <ButtonLink href={toHref(['users'], { status: 'no-second-factor' })}>{texts.without}</ButtonLink>
      </Heading>
      <Loaded resource={policy} what={texts.what} shape="cards">
        {(data) => (
          <div class="stack wide">
            <PolicyForm policy={data} onChange={policy.reload} />
            <Missing policy={data} />
          </div>
        )}
      </Loaded>
    </Page>
  )
}

interface PolicyFormProps {
  readonly policy: FactorPolicyView
  readonly onChange: () => void
}

function PolicyForm({ policy: { roles, missing }, onChange }: PolicyFormProps) {
  const own = useSession().name
  // one name per line, as a name that is being typed may contain a comma
  const shared = useSharedValue(roles.join('\n'))
  const { value, setValue, base, isChanged, isOverridden, keep, replace } = shared
  const wanted = toRoles(value)
  const isForAdministrators = wanted.includes(ADMINISTRATORS)
  const others = wanted.filter((role) => role !== ADMINISTRATORS)
  const change = (isForAll: boolean, names: readonly string[]) =>
    setValue([...(isForAll ? [ADMINISTRATORS] : []), ...names].join('\n'))
  const isNew = isForAdministrators && !roles.includes(ADMINISTRATORS)
  const { submit, isBusy, problem } = useSubmit(async () => {
    const body = { value: wanted.join(', '), expected: toRoles(base).join(', ') }
    // after a refusal too: another policy may be the reason
    await api.put('/settings/admin/second-factor-roles', body).then(shared.setSaved).finally(onChange)
    // an administrator without a second factor sees only the page that sets it up from now on
    if (isNew || missing.some(({ name }) => name === own)) location.reload()
    notify(texts.saved)
  })
  return (
    <Card title={texts.title}>
      <form class="inside stack form" onSubmit={submit}>
        <CheckField
          label={texts.administrators}
          isChecked={isForAdministrators}
          onChange={(isForAll) => change(isForAll, others)}
        />
        <NamesField
          label={texts.roles}
          names={others}
          onNames={(names) => change(isForAdministrators, names)}
          of="roles"
        />
        <p class="quiet">
          {texts.effect} {texts.tokens}
        </p>
        {isNew && <p class="notice warning">{texts.ownEffect}</p>}
        {isOverridden ? (
          <Overridden current={toLabel(roles)} own={toLabel(wanted)} onKeep={keep} onReplace={replace} />
        ) : (
          <Problem text={problem} />
        )}
        <div class="row">
          <Button type="submit" kind="primary" isBusy={isBusy} disabled={!isChanged || isOverridden}>
            {texts.save}
          </Button>
        </div>
      </form>
    </Card>
  )
}

function Missing({ policy: { roles, missing, isComplete } }: { readonly policy: FactorPolicyView }) {
  if (missing.length === 0)
    return (
      <div class="card">
        {roles.length === 0 ? <Empty title={texts.noPolicy} text={texts.noPolicyText} /> : <Empty title={texts.none} />}
      </div>
    )
  return (
    <section aria-label={texts.missing} class="stack">
      <h2>
        {texts.missing}: {texts.missingCount(missing.length, isComplete)}
      </h2>
      <Table caption={texts.missing} columns={COLUMNS} rows={missing} keyOf={({ name }) => name} />
    </section>
  )
}

const COLUMNS: readonly Column<UnprotectedAccountView>[] = [
  {
    label: shared.users.name,
    render: ({ name, isAdministrator }) => (
      <NameLink path={[isAdministrator ? 'administrators' : 'users', name]}>{name}</NameLink>
    ),
  },
  {
    label: texts.because,
    render: ({ roles, isAdministrator }) =>
      isAdministrator ? texts.administrator : <Chips items={roles.map(shared.users.role)} />,
  },
  { label: shared.users.lastSignIn, render: ({ lastSignIn }) => <LastSignIn signIn={lastSignIn} /> },
]
