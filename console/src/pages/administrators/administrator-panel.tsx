import { type Administrator, toPath } from '../../api/client.ts'
import { useSession } from '../../frame/session.ts'
import { openDialog, toHref, useRoute } from '../../router.ts'
import { texts } from '../../texts.ts'
import { LastSignIn } from '../../ui/last-sign-in.tsx'
import { Button, Facts, Section } from '../../ui/parts.tsx'
import { showScheme } from '../../ui/password-scheme.ts'
import { SessionTable, useSessions } from '../../ui/session-table.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { AdministratorDialog } from './administrator-dialogs.tsx'

interface AdministratorPanelProps {
  readonly administrator: Administrator
  /** The last administrator cannot be removed. */
  readonly isLast: boolean
  readonly onChange: () => void
}

export function AdministratorPanel({ administrator, isLast, onChange }: AdministratorPanelProps) {
  const { query } = useRoute()
  const { name, password, totp, sessions, lastSignIn } = administrator
  const base = toPath('users', name, 'sessions')
  const list = useSessions(base, sessions)
  return (
    <SidePanel title={name} back={toHref(['administrators'])}>
      <Facts
        facts={[
          [texts.users.lastSignIn, <LastSignIn key="sign-in" signIn={lastSignIn} hasPeer />],
          [texts.users.secondFactor, totp ? texts.users.totpOn : texts.users.totpOff],
          [texts.users.password, password === null ? texts.users.noPassword : showScheme(password)],
        ]}
      />
      <Actions administrator={administrator} isLast={isLast} />
      {isLast && <p class="quiet">{texts.administrators.last}</p>}
      <Section title={texts.sessions.title}>
        <SessionTable list={list} base={base} canEnd onChange={onChange} />
      </Section>
      <AdministratorDialog action={query['do']} administrator={administrator} onChange={onChange} />
    </SidePanel>
  )
}

function Actions({ administrator: { name, totp, sessions }, isLast }: Omit<AdministratorPanelProps, 'onChange'>) {
  const kept = useSession().name === name ? 1 : 0
  return (
    <div class="row">
      <Button onClick={() => openDialog('password')}>{texts.users.setPassword}</Button>
      {sessions > kept && <Button onClick={() => openDialog('sign-out')}>{texts.userActions.signOut.short}</Button>}
      {totp && <Button onClick={() => openDialog('reset-totp')}>{texts.userActions.resetTotp.short}</Button>}
      <Button kind="danger" disabled={isLast} onClick={() => openDialog('remove')}>
        {texts.actions.remove}
      </Button>
    </div>
  )
}
