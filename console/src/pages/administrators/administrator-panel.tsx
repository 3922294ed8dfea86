import { type Administrator, api, toPath } from '../../api/client.ts'
import { useSession } from '../../frame/session.ts'
import { navigate, openDialog, toHref, useRoute } from '../../router.ts'
import { texts } from '../../texts.ts'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { LastSignIn } from '../../ui/last-sign-in.tsx'
import { Button, Facts, Section } from '../../ui/parts.tsx'
import { showScheme } from '../../ui/password-scheme.ts'
import { SessionTable, useSessions } from '../../ui/session-table.tsx'
import { SetPasswordDialog } from '../../ui/set-password-dialog.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { notify, notifyAfterReload } from '../../ui/toast.tsx'

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

interface AdministratorDialogProps {
  readonly administrator: Administrator
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
  { name, sessions }: Administrator,
  isOwn: boolean,
): Readonly<Partial<Record<string, Confirmed>>> => ({
  'sign-out': {
    label: isOwn ? texts.sessions.endOthers : texts.userActions.signOut.label(name),
    effect: isOwn ? texts.sessions.endOthersText(sessions - 1) : texts.sessions.endAllText(sessions),
    run: () => api.delete(toPath('users', name, 'sessions')),
    done: ({ endedSessions = 0 }) => texts.sessions.endedCount(endedSessions),
  },
  'reset-totp': {
    label: texts.userActions.resetTotp.label(name),
    effect: texts.userActions.resetTotp.effect({ name, sessions }),
    run: (proof) => api.delete(toPath('administrators', name, 'totp'), proof),
    done: () => texts.userActions.resetTotp.done(name),
  },
  remove: {
    label: texts.administrators.remove(name),
    effect: isOwn ? texts.administrators.removeOwnText : texts.administrators.removeText(name),
    run: (proof) => api.delete(toPath('administrators', name), proof),
    done: () => texts.administrators.removed(name),
  },
})

/** The own password ends the own session, so the page is loaded again. */
function SetPassword({ administrator: { name, sessions }, onChange }: AdministratorDialogProps) {
  const isOwn = useSession().name === name
  const finish = () => {
    if (!isOwn) {
      notify(texts.users.passwordSet(name))
      onChange()
      return
    }
    notifyAfterReload(texts.users.passwordSet(name))
    location.reload()
  }
  return (
    <SetPasswordDialog
      name={name}
      effect={texts.users.sessionsEnd(sessions)}
      save={(password, proof) => api.put(toPath('administrators', name, 'password'), { password, ...proof })}
      onDone={finish}
    />
  )
}
