import { api, type ListedAdministratorView, toPath } from '../../api/client.ts'
import { useSession } from '../../frame/session.ts'
import { PasskeySection } from '../../modules/passkeys/passkey-section.tsx'
import { navigate, openDialog, toHref, useRoute } from '../../router.ts'
import { shared } from '../../texts.ts'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { LastSignIn } from '../../ui/last-sign-in.tsx'
import { Button, Facts, Section } from '../../ui/parts.tsx'
import { showScheme } from '../../ui/password-scheme.ts'
import { describeFactors } from '../../ui/second-factor.ts'
import { SessionTable, useSessions } from '../../ui/session-table.tsx'
import { SetPasswordDialog } from '../../ui/set-password-dialog.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { notify, notifyAfterReload } from '../../ui/toast.tsx'
import { texts } from './texts.ts'

interface AdministratorPanelProps {
  readonly administrator: ListedAdministratorView
  /** The last administrator cannot be removed. */
  readonly isLast: boolean
  readonly onChange: () => void
}

export function AdministratorPanel({ administrator, isLast, onChange }: AdministratorPanelProps) {
  const { query } = useRoute()
  const { name, password, sessions, lastSignIn } = administrator
  const base = toPath('users', name, 'sessions')
  const list = useSessions(base, sessions)
  return (
    <SidePanel title={name} back={toHref(['administrators'])}>
      <Facts
        facts={[
          [shared.users.lastSignIn, <LastSignIn key="sign-in" signIn={lastSignIn} hasPeer />],
          [shared.users.secondFactor, describeFactors(administrator) || shared.users.totpOff],
          [shared.users.password, password === null ? shared.users.noPassword : showScheme(password)],
        ]}
      />
      <Actions administrator={administrator} isLast={isLast} />
      {isLast && <p class="quiet">{texts.last}</p>}
      <PasskeySection user={administrator} canEdit onChange={onChange} />
      <Section title={shared.sessions.title}>
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
      <Button onClick={() => openDialog('password')}>{shared.users.setPassword}</Button>
      {sessions > kept && <Button onClick={() => openDialog('sign-out')}>{shared.userActions.signOut.short}</Button>}
      {totp && <Button onClick={() => openDialog('reset-totp')}>{shared.userActions.resetTotp.short}</Button>}
      <Button kind="danger" disabled={isLast} onClick={() => openDialog('remove')}>
        {shared.actions.remove}
      </Button>
    </div>
  )
}

interface AdministratorDialogProps {
  readonly administrator: ListedAdministratorView
  readonly onChange: () => void
}

/** The dialog that the address names. */
function AdministratorDialog({
  action = '',
  ...props
}: AdministratorDialogProps & { readonly action: string | undefined }) {
  const { administrator, onChange } = props
  const isOwn = useSession().name === administrator.name
  const confirmed = toConfirmed(administrator, isOwn)[action]
  if (action === 'password') return <SetPassword {...props} />
  if (!confirmed) return null
  const finish = () => {
    onChange()
    if (action === 'remove') navigate(toHref(['administrators']))
  }
  return <ConfirmDialog {...confirmed} isDanger onDone={finish} />
}

interface Ended {
  readonly endedSessions?: number
}

type Confirmed = Omit<Parameters<typeof ConfirmDialog<Ended>>[0], 'isDanger' | 'onDone'>

/** What only needs a confirmation. */
const toConfirmed = (
  { name, sessions }: ListedAdministratorView,
  isOwn: boolean,
): Readonly<Partial<Record<string, Confirmed>>> => ({
  'sign-out': {
    label: isOwn ? shared.sessions.endOthers : shared.userActions.signOut.label(name),
    effect: isOwn ? shared.sessions.endOthersText(sessions - 1) : shared.sessions.endAllText(sessions),
    run: (proof) => api.delete(toPath('users', name, 'sessions'), proof),
    done: ({ endedSessions = 0 }) => shared.sessions.endedCount(endedSessions),
  },
  'reset-totp': {
    label: shared.userActions.resetTotp.label(name),
    effect: shared.userActions.resetTotp.effect({ name, sessions }),
    run: (proof) => api.delete(toPath('administrators', name, 'totp'), proof),
    done: () => shared.userActions.resetTotp.done(name),
  },
  remove: {
    label: texts.remove(name),
    effect: isOwn ? texts.removeOwnText : texts.removeText(name),
    run: (proof) => api.delete(toPath('administrators', name), proof),
    done: () => texts.removed(name),
  },
})

/** The own password ends the own session, so the page is loaded again. */
function SetPassword({ administrator: { name, sessions }, onChange }: AdministratorDialogProps) {
  const isOwn = useSession().name === name
  const finish = () => {
    if (!isOwn) {
      notify(shared.users.passwordSet(name))
      onChange()
      return
    }
    notifyAfterReload(shared.users.passwordSet(name))
    location.reload()
  }
  return (
    <SetPasswordDialog
      name={name}
      effect={shared.users.sessionsEnd(sessions)}
      save={(password, proof) => api.put(toPath('administrators', name, 'password'), { password, ...proof })}
      onDone={finish}
    />
  )
}
