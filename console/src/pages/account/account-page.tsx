import { useState } from 'preact/hooks'
import { type Account, api } from '../../api/client.ts'
import { type Resource, useResource } from '../../api/use-resource.ts'
import { Page } from '../../frame/page.tsx'
import { useIsAdministrator, useSession } from '../../frame/session.ts'
import { openDialog, useRoute } from '../../router.ts'
import { texts } from '../../texts.ts'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { Problem, TextField, useSubmit } from '../../ui/field.tsx'
import { NewPassword } from '../../ui/new-password.tsx'
import { Button, Card, Chips, Facts, Heading, Time } from '../../ui/parts.tsx'
import { SessionTable, useSessions } from '../../ui/session-table.tsx'
import { Loaded } from '../../ui/states.tsx'
import { notifyAfterReload } from '../../ui/toast.tsx'
import { SecondFactor } from './second-factor.tsx'
import { TokenCard } from './tokens.tsx'

export function AccountPage() {
  const account = useResource('account', (signal) => api.get<Account>('/account', {}, signal))
  const isAdministrator = useIsAdministrator()
  return (
    <Page>
      <Heading text={isAdministrator ? texts.account.introAdministrator : texts.account.intro} />
      <Loaded resource={account} what={texts.account.what} shape="cards">
        {(data) => <Cards account={data} resource={account} />}
      </Loaded>
    </Page>
  )
}

/** Before a required change of the password or a required second factor, nothing else can be done. */
function Cards({ account, resource }: Readonly<{ account: Account; resource: Resource<Account> }>) {
  const mustSetUpFactor = useSession().mustSetUpFactor || account.mustSetUpFactor
  const password = (
    <Card title={texts.account.password}>
      <PasswordForm rules={account.passwordRules} />
    </Card>
  )
  if (account.mustChangePassword)
    return (
      <div class="stack wide">
        <p class="notice warning" role="status">
          {texts.account.mustChange}
        </p>
        {password}
      </div>
    )
  const factor = (
    <Card title={texts.account.secondFactor}>
      <SecondFactor state={account.totp} onChange={resource.reload} />
    </Card>
  )
  return (
    <div class="stack wide">
      {mustSetUpFactor && <FactorNotice isSet={!account.mustSetUpFactor} />}
      {mustSetUpFactor && factor}
      <Identity account={account} />
      {password}
      {!mustSetUpFactor && factor}
      {!account.mustSetUpFactor && <SessionsCard />}
      {!account.mustSetUpFactor && !account.isAdministrator && <TokenCard />}
    </div>
  )
}

/** The page keeps its recovery codes until the user goes on. */
const FactorNotice = ({ isSet }: { readonly isSet: boolean }) => (
  <div class={`notice row between ${isSet ? 'success' : 'warning'}`} role="status">
    <span>{isSet ? texts.account.factorIsSet : texts.account.mustSetUpFactor}</span>
    {isSet && <Button onClick={() => location.reload()}>{texts.account.goOn}</Button>}
  </div>
)

function Identity({ account: { name, roles, expires } }: { readonly account: Account }) {
  const { rights, server } = useSession()
  return (
    <Card title={texts.account.title}>
      <div class="inside">
        <Facts
          facts={[
            [texts.account.name, <span class="mono">{name}</span>],
            [texts.account.rights, texts.account.rightsOf[rights]],
            [texts.users.roles, roles.length > 0 ? <Chips items={roles} /> : texts.users.noRoles],
            [texts.users.expires, expires ? <Time at={expires} /> : texts.time.never],
            [texts.account.server, server],
          ]}
        />
      </div>
    </Card>
  )
}

/** A new password ends all sessions. This page gets a new one, and its token with the next delivery of the page. */
function PasswordForm({ rules }: { readonly rules: readonly string[] }) {
  const [current, setCurrent] = useState('')
  const [password, setPassword] = useState('')
  const { submit, isBusy, problem } = useSubmit(async () => {
    const body = { current_password: current, password }
    const { endedSessions } = await api.put<{ readonly endedSessions: number }>('/account/password', body)
    notifyAfterReload(texts.account.passwordChanged(endedSessions))
    location.reload()
  })
  return (
    <form class="inside stack form" onSubmit={submit}>
      <TextField
        label={texts.account.currentPassword}
        type="password"
        autoComplete="current-password"
        value={current}
        onValue={setCurrent}
      />
      <NewPassword label={texts.users.newPassword} rules={rules} value={password} onValue={setPassword} />
      <Problem text={problem} />
      <div class="row">
        <Button type="submit" kind="primary" isBusy={isBusy} disabled={current === '' || password === ''}>
          {texts.account.changePassword}
        </Button>
        <span class="quiet">{texts.account.changeEffect}</span>
      </div>
    </form>
  )
}

const BASE = '/account/sessions'
const END_OTHERS = 'end-others'

/** The own sessions. */
function SessionsCard() {
  const { query } = useRoute()
  const list = useSessions(BASE)
  const others = list.data?.sessions.filter(({ isCurrent }) => !isCurrent).length ?? 0
  const endOthers = others > 0 && <Button onClick={() => openDialog(END_OTHERS)}>{texts.sessions.endOthers}</Button>
  return (
    <Card title={texts.sessions.title} actions={endOthers}>
      <SessionTable list={list} base={BASE} canEnd />
      {query['do'] === END_OTHERS && others > 0 && (
        <ConfirmDialog
          label={texts.sessions.endOthers}
          effect={texts.sessions.endOthersText(others)}
          isDanger
          run={() => api.post<{ readonly endedSessions: number }>(`${BASE}/end-others`)}
          done={({ endedSessions }) => texts.sessions.endedCount(endedSessions)}
          onDone={list.reload}
        />
      )}
    </Card>
  )
}
