import { useState } from 'preact/hooks'
import { api, toPath } from '../../api/client.ts'
import type { PasswordLink, UserDetails } from '../../api/types.ts'
import { changeQuery, navigate } from '../../router.ts'
import { texts } from '../../texts.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog, FormDialog } from '../../ui/dialog.tsx'
import { CheckField, TextField } from '../../ui/field.tsx'
import { NewPassword } from '../../ui/new-password.tsx'
import { ShownOnce } from '../../ui/parts.tsx'
import { withPassword } from '../../ui/password-proof.tsx'
import { Time } from '../../ui/time.tsx'
import { notify } from '../../ui/toast.tsx'
import { CONFIRMED_ACTIONS, type UserAction } from './user-actions.tsx'

interface UserDialogProps {
  readonly action: string | undefined
  readonly user: UserDetails
  readonly back: string
  readonly onChange: () => void
}

const close = () => changeQuery({ do: undefined })

/** The dialog that the address names. */
export function UserDialog({ action = '', user, back, onChange }: UserDialogProps) {
  const confirmed = CONFIRMED_ACTIONS[action]
  if (confirmed) return <Confirm action={confirmed} user={user} back={back} onChange={onChange} />
  if (action === 'password') return <SetPassword user={user} onChange={onChange} />
  if (action === 'link') return <CreateLink user={user} />
  if (action === 'expire') return <SetExpiry user={user} onChange={onChange} />
  return null
}

interface ConfirmProps extends Omit<UserDialogProps, 'action'> {
  readonly action: UserAction
}

function Confirm({ action, user, back, onChange }: ConfirmProps) {
  const { name } = user
  const run = async () => {
    await withPassword((proof) => action.run(name, proof))
    notify(action.done(name))
    onChange()
    if (action.removes) navigate(back)
    else close()
  }
  return (
    <FormDialog
      title={action.label(name)}
      action={action.label(name)}
      isDanger={action.isDanger ?? false}
      onClose={close}
      onSubmit={run}
    >
      <p>{action.effect(user)}</p>
    </FormDialog>
  )
}

interface EditProps {
  readonly user: UserDetails
  readonly onChange: () => void
}

function SetPassword({ user: { name, sessions }, onChange }: EditProps) {
  const [password, setPassword] = useState('')
  const [isRefused, setRefused] = useState(false)
  const [mustChange, setMustChange] = useState(true)
  const save = async () => {
    const body = { password, mustChangePassword: mustChange }
    await withPassword((proof) => api.put(toPath('users', name, 'password'), { ...body, ...proof }))
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
      <CheckField label={texts.users.mustChangeLabel} isChecked={mustChange} onChange={setMustChange} />
      <p class="quiet">{texts.users.sessionsEnd(sessions)}</p>
    </FormDialog>
  )
}

function CreateLink({ user: { name } }: { readonly user: UserDetails }) {
  const [link, setLink] = useState<PasswordLink>()
  const create = async () => setLink(await api.post<PasswordLink>(toPath('users', name, 'password-link')))
  if (!link)
    return (
      <FormDialog title={texts.users.linkFor(name)} action={texts.users.createLink} onClose={close} onSubmit={create}>
        <p>{texts.users.linkText}</p>
      </FormDialog>
    )
  return (
    <Dialog title={texts.users.linkFor(name)} onClose={close}>
      <ShownOnce label={texts.users.linkFor(name)} value={link.url} />
      <p class="quiet">
        {texts.users.linkExpires} <Time at={link.expiresAt} />
      </p>
      <div class="row end">
        <Button kind="primary" onClick={close}>
          {texts.actions.done}
        </Button>
      </div>
    </Dialog>
  )
}

function SetExpiry({ user: { name, expires }, onChange }: EditProps) {
  const [day, setDay] = useState(expires?.slice(0, 10) ?? '')
  const save = async () => {
    await api.put(toPath('users', name, 'expiry'), { expires: day === '' ? null : day })
    notify(day === '' ? texts.users.neverExpires(name) : texts.users.expiresOn(name, day))
    onChange()
    close()
  }
  return (
    <FormDialog
      title={texts.users.expiryOf(name)}
      action={texts.users.saveExpiry(name)}
      onClose={close}
      onSubmit={save}
    >
      <TextField label={texts.users.expiryDay} hint={texts.users.expiryHint} type="date" value={day} onValue={setDay} />
    </FormDialog>
  )
}
