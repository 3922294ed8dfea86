import { useState } from 'preact/hooks'
import { api, toPath } from '../../api/client.ts'
import { useSession } from '../../frame/session.ts'
import { changeQuery, navigate, toHref } from '../../router.ts'
import { texts } from '../../texts.ts'
import { FormDialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { NewPassword } from '../../ui/new-password.tsx'
import { withPassword } from '../../ui/password-proof.tsx'
import { notify, notifyAfterReload } from '../../ui/toast.tsx'

const close = () => changeQuery({ do: undefined })

export function AddAdministrator({ onAdded }: { readonly onAdded: () => void }) {
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const [isRefused, setRefused] = useState(false)
  const add = async () => {
    await api.post('/administrators', { name, password })
    notify(texts.administrators.added(name))
    onAdded()
    navigate(toHref(['administrators', name]))
  }
  return (
    <FormDialog
      title={texts.administrators.add}
      action={texts.administrators.add}
      isReady={name !== '' && password !== '' && !isRefused}
      onClose={close}
      onSubmit={add}
    >
      <p>{texts.administrators.addText}</p>
      <TextField
        label={texts.users.name}
        isMono
        autoFocus
        autoComplete="off"
        autoCapitalize="none"
        spellcheck={false}
        value={name}
        onValue={setName}
      />
      <NewPassword label={texts.users.password} value={password} onValue={setPassword} onRefused={setRefused} />
    </FormDialog>
  )
}

interface EditProps {
  readonly name: string
  readonly onChange: () => void
}

/** The own password ends the own session, so the page is loaded again. */
export function SetAdministratorPassword({ name, onChange }: EditProps) {
  const own = useSession().name
  const [password, setPassword] = useState('')
  const [isRefused, setRefused] = useState(false)
  const save = async () => {
    await withPassword((proof) => api.put(toPath('administrators', name, 'password'), { password, ...proof }))
    if (name === own) {
      notifyAfterReload(texts.users.passwordSet(name))
      location.reload()
      return
    }
    notify(texts.users.passwordSet(name))
    onChange()
    close()
  }
  return (
    <FormDialog
      title={texts.users.setPasswordOf(name)}
      action={texts.users.setPassword}
      isReady={password !== '' && !isRefused}
      onClose={close}
      onSubmit={save}
    >
      <NewPassword label={texts.users.newPassword} value={password} onValue={setPassword} onRefused={setRefused} />
      <p class="quiet">{texts.administrators.sessionsEnd(name)}</p>
    </FormDialog>
  )
}

export function ResetSecondFactor({ name, onChange }: EditProps) {
  const { label, done, effect } = texts.userActions.resetTotp
  const run = async () => {
    await withPassword((proof) => api.delete(toPath('administrators', name, 'totp'), proof))
    notify(done(name))
    onChange()
    close()
  }
  return (
    <FormDialog title={label(name)} action={label(name)} isDanger onClose={close} onSubmit={run}>
      <p>{effect({ name, sessions: 0 })}</p>
    </FormDialog>
  )
}

interface RemoveProps extends EditProps {
  readonly back: string
}

export function RemoveAdministrator({ name, back, onChange }: RemoveProps) {
  const run = async () => {
    await withPassword((proof) => api.delete(toPath('administrators', name), proof))
    notify(texts.administrators.removed(name))
    onChange()
    navigate(back)
  }
  const isOwn = useSession().name === name
  const label = texts.administrators.remove(name)
  return (
    <FormDialog title={label} action={label} isDanger onClose={close} onSubmit={run}>
      <p>{isOwn ? texts.administrators.removeOwnText : texts.administrators.removeText(name)}</p>
    </FormDialog>
  )
}
