import { type Administrator, api, toPath } from '../../api/client.ts'
import { useSession } from '../../frame/session.ts'
import { navigate, toHref } from '../../router.ts'
import { texts } from '../../texts.ts'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { SetPasswordDialog } from '../../ui/set-password-dialog.tsx'
import { notify, notifyAfterReload } from '../../ui/toast.tsx'

interface AdministratorDialogProps {
  readonly administrator: Administrator
  readonly onChange: () => void
}

/** The dialog that the address names. */
export function AdministratorDialog({
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
