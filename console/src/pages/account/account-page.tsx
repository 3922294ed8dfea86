import { useState } from 'preact/hooks'
import { type AccountView, api } from '../../api/client.ts'
import { type Resource, useResource } from '../../api/use-resource.ts'
import { Page } from '../../frame/page.tsx'
import { useIsAdministrator, useSession } from '../../frame/session.ts'
import { AddressCard } from '../../modules/mail/address-card.tsx'
import { PasskeyCard } from '../../modules/passkeys/passkey-card.tsx'
import { openDialog, useRoute } from '../../router.ts'
import { shared } from '../../texts.ts'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { Problem, TextField, useSubmit } from '../../ui/field.tsx'
import { NewPassword } from '../../ui/new-password.tsx'
import { Button, Card, Chips, Facts, Heading, Time } from '../../ui/parts.tsx'
import { PASSKEY_PROOF } from '../../ui/password-proof.tsx'
import { saveFile } from '../../ui/save-file.ts'
import { SessionTable, useSessions } from '../../ui/session-table.tsx'
import { Loaded } from '../../ui/states.tsx'
import { notifyAfterReload } from '../../ui/toast.tsx'
import { SecondFactor } from './second-factor.tsx'
import { texts } from './texts.ts'
import { TokenCard } from './tokens.tsx'

export function AccountPage() {
  const account = useResource('account', (signal) => api.get<AccountView>('/account', {}, signal))
  const isAdministrator = useIsAdministrator()
  return (
    <Page>
      <Heading text={isAdministrator ? texts.introAdministrator : texts.intro} />
      <Loaded resource={account} what={texts.what} shape="cards">
        {(data) => <Cards account={data} resource={account} />}
      </Loaded>
    </Page>
  )
}

/** Before a required change of the password or a required second factor, nothing else can be done. */
function Cards({ account, resource }: Readonly<{ account: AccountView; resource: Resource<AccountView> }>) {
  const mustSetUpFactor = useSession().mustSetUpFactor || account.mustSetUpFactor
  const password = (
    <Card title={texts.password}>
      <PasswordForm account={account} />
    </Card>
  )
  if (account.mustChangePassword)
    return (
      <div class="stack wide">
        <p class="notice warning" role="status">
          {texts.mustChange}
        </p>
        {password}
      </div>
    )
  const factor = (
    <Card title={texts.secondFactor}>
      <SecondFactor account={account} onChange={resource.reload} />
    </Card>
  )
  const canRemovePassword = account.hasPassword && !account.isAdministrator
  const passkeys = <PasskeyCard canRemovePassword={canRemovePassword} onAdded={resource.reload} />
  return (
    <div class="stack wide">
      {mustSetUpFactor && <FactorNotice isSet={!account.mustSetUpFactor} />}
      {mustSetUpFactor && factor}
      {mustSetUpFactor && passkeys}
      <Identity account={account} />
      {password}
      {!account.mustSetUpFactor && !account.isAdministrator && <AddressCard />}
      {!mustSetUpFactor && passkeys}
      {!mustSetUpFactor && factor}
      {!account.mustSetUpFactor && <SessionsCard />}
      {!account.mustSetUpFactor && !account.isAdministrator && <TokenCard />}
    </div>
  )
}

/** The page keeps its recovery codes until the user goes on. */
const FactorNotice = ({ isSet }: { readonly isSet: boolean }) => (
  <div class={`notice row between ${isSet ? 'success' : 'warning'}`} role="status">
    <span>{isSet ? texts.factorIsSet : texts.mustSetUpFactor}</span>
    {isSet && <Button onClick={() => location.reload()}>{texts.goOn}</Button>}
  </div>
)

function Identity({ account: { name, roles, expires } }: { readonly account: AccountView }) {
  const { rights, server } = useSession()
  const {
    submit: save,
    isBusy,
    problem,
  } = useSubmit(async () => {
    const all = await api.get<object>('/account/export', {})
    saveFile(`${texts.exportFile}.json`, JSON.stringify(all, undefined, 2), 'application/json')
  })
  const download = (
    <Button onClick={save} isBusy={isBusy}>
      {texts.exportAction}
    </Button>
  )
  return (
    <Card title={texts.title} actions={download}>
      <Problem text={problem} />
      <div class="inside">
        <Facts
          facts={[
            [texts.name, <span class="mono">{name}</span>],
            [texts.rights, texts.rightsOf[rights]],
            [shared.users.roles, roles.length > 0 ? <Chips items={roles} /> : shared.users.noRoles],
            [shared.users.expires, expires ? <Time at={expires} /> : shared.time.never],
            [texts.server, server],
          ]}
        />
      </div>
    </Card>
  )
}

/** A new password ends all sessions. This page gets a new one, and its token with the next delivery of the page. */
function PasswordForm({ account: { passwordRules, hasPassword } }: { readonly account: AccountView }) {
  const [current, setCurrent] = useState('')
  const [password, setPassword] = useState('')
  const { submit, isBusy, problem } = useSubmit(async () => {
    const body = { password, ...(hasPassword ? { current_password: current } : PASSKEY_PROOF) }
    const { endedSessions } = await api.put<{ readonly endedSessions: number }>('/account/password', body)
    notifyAfterReload(texts.passwordChanged(endedSessions))
    location.reload()
  })
  return (
    <form class="inside stack form" onSubmit={submit}>
      {hasPassword ? (
        <TextField
          label={texts.currentPassword}
          type="password"
          autoComplete="current-password"
          value={current}
          onValue={setCurrent}
        />
      ) : (
        <p>{texts.noPassword}</p>
      )}
      <NewPassword label={shared.users.newPassword} rules={passwordRules} value={password} onValue={setPassword} />
      <Problem text={problem} />
      <div class="row">
        <Button
          type="submit"
          kind="primary"
          isBusy={isBusy}
          disabled={(hasPassword && current === '') || password === ''}
        >
          {hasPassword ? texts.changePassword : texts.setPassword}
        </Button>
        <span class="quiet">{texts.changeEffect}</span>
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
  const endOthers = others > 0 && <Button onClick={() => openDialog(END_OTHERS)}>{shared.sessions.endOthers}</Button>
  return (
    <Card title={shared.sessions.title} actions={endOthers}>
      <SessionTable list={list} base={BASE} canEnd />
      {query['do'] === END_OTHERS && others > 0 && (
        <ConfirmDialog
          label={shared.sessions.endOthers}
          effect={shared.sessions.endOthersText(others)}
          isDanger
          run={(proof) => api.post<{ readonly endedSessions: number }>(`${BASE}/end-others`, proof)}
          done={({ endedSessions }) => shared.sessions.endedCount(endedSessions)}
          onDone={list.reload}
        />
      )}
    </Card>
  )
}
