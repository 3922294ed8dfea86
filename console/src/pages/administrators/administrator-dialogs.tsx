import { api, toPath } from '../../api/client.ts'
import type { Administrator } from '../../api/types.ts'
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
  action,
  ...props
}: AdministratorDialogProps & { readonly action: string | undefined }) {
  if (action === 'password') return <SetPassword {...props} />
  if (action === 'sign-out') return <EndSessions {...props} />
  if (action === 'reset-totp') return <ResetSecondFactor {...props} />
  if (action === 'remove') return <Remove {...props} />
  return null
}

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

function EndSessions({ administrator: { name, sessions }, onChange }: AdministratorDialogProps) {
  const { label } = texts.userActions.signOut
  const isOwn = useSession().name === name
  return (
    <ConfirmDialog
      label={isOwn ? texts.sessions.endOthers : label(name)}
      effect={isOwn ? texts.sessions.endOthersText(sessions - 1) : texts.sessions.endAllText(sessions)}
      isDanger
      run={() => api.delete<{ readonly endedSessions: number }>(toPath('users', name, 'sessions'))}
      done={({ endedSessions }) => texts.sessions.endedCount(endedSessions)}
      onDone={onChange}
    />
  )
}

function ResetSecondFactor({ administrator: { name, sessions }, onChange }: AdministratorDialogProps) {
  const { label, done, effect } = texts.userActions.resetTotp
  return (
    <ConfirmDialog
      label={label(name)}
      effect={effect({ name, sessions })}
      isDanger
      run={(proof) => api.delete(toPath('administrators', name, 'totp'), proof)}
      done={() => done(name)}
      onDone={onChange}
    />
  )
}

function Remove({ administrator: { name }, onChange }: AdministratorDialogProps) {
  const isOwn = useSession().name === name
  const finish = () => {
    onChange()
    navigate(toHref(['administrators']))
  }
  return (
    <ConfirmDialog
      label={texts.administrators.remove(name)}
      effect={isOwn ? texts.administrators.removeOwnText : texts.administrators.removeText(name)}
      isDanger
      run={(proof) => api.delete(toPath('administrators', name), proof)}
      done={() => texts.administrators.removed(name)}
      onDone={finish}
    />
  )
}
