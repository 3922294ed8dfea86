import { toPath } from '../../api/client.ts'
import type { Administrator } from '../../api/types.ts'
import { changeQuery, toHref, useRoute } from '../../router.ts'
import { texts } from '../../texts.ts'
import { Button } from '../../ui/button.tsx'
import { Facts, Section } from '../../ui/parts.tsx'
import { showScheme } from '../../ui/password-scheme.ts'
import { SessionTable } from '../../ui/session-table.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { RemoveAdministrator, ResetSecondFactor, SetAdministratorPassword } from './administrator-dialogs.tsx'

interface AdministratorPanelProps {
  readonly administrator: Administrator
  /** The last administrator cannot be removed. */
  readonly isLast: boolean
  readonly onChange: () => void
}

const BACK = toHref(['administrators'])
const open = (action: string) => changeQuery({ do: action }, { replaces: false })

export function AdministratorPanel({ administrator, isLast, onChange }: AdministratorPanelProps) {
  const { query } = useRoute()
  const { name, password, totp } = administrator
  return (
    <SidePanel title={name} back={BACK}>
      <Facts
        facts={[
          [texts.users.password, password === null ? texts.users.noPassword : showScheme(password)],
          [texts.users.secondFactor, totp ? texts.users.totpOn : texts.users.totpOff],
        ]}
      />
      <div class="row">
        <Button onClick={() => open('password')}>{texts.users.setPassword}</Button>
        {totp && <Button onClick={() => open('reset-totp')}>{texts.userActions.resetTotp.short}</Button>}
        <Button kind="danger" disabled={isLast} onClick={() => open('remove')}>
          {texts.actions.remove}
        </Button>
      </div>
      {isLast && <p class="quiet">{texts.administrators.last}</p>}
      <Section title={texts.sessions.title}>
        <SessionTable base={toPath('users', name, 'sessions')} canEnd />
      </Section>
      {query['do'] === 'password' && <SetAdministratorPassword name={name} onChange={onChange} />}
      {query['do'] === 'reset-totp' && <ResetSecondFactor name={name} onChange={onChange} />}
      {query['do'] === 'remove' && <RemoveAdministrator name={name} back={BACK} onChange={onChange} />}
    </SidePanel>
  )
}
