import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import type { User } from '../../api/types.ts'
import { closeDialog, navigate, toHref } from '../../router.ts'
import { texts } from '../../texts.ts'
import { FormDialog } from '../../ui/dialog.tsx'
import { CheckField, TextField } from '../../ui/field.tsx'
import { NameField, readNames } from '../../ui/name-field.tsx'
import { NewPassword, useNewPassword } from '../../ui/new-password.tsx'
import { notify } from '../../ui/toast.tsx'

export function AddUser({ onAdded }: { readonly onAdded: () => void }) {
  const [name, setName] = useState('')
  const [roles, setRoles] = useState('')
  const [mustChange, setMustChange] = useState(true)
  const password = useNewPassword()
  const add = async () => {
    const draft = {
      name,
      roles: readNames(roles),
      ...(password.value && { password: password.value, mustChangePassword: mustChange }),
    }
    const user = await api.post<User>('/users', draft)
    notify(texts.users.added(user.name))
    onAdded()
    navigate(toHref(['users', user.name]))
  }
  return (
    <FormDialog
      title={texts.users.add}
      action={texts.users.add}
      isReady={name !== '' && !password.isRefused}
      onClose={closeDialog}
      onSubmit={add}
    >
      <NameField hint={texts.users.nameHint} value={name} onValue={setName} />
      <NewPassword label={texts.users.password} {...password.field} />
      <CheckField label={texts.users.mustChangeLabel} isChecked={mustChange} onChange={setMustChange} />
      <TextField label={texts.users.roles} hint={texts.users.rolesHint} isMono value={roles} onValue={setRoles} />
    </FormDialog>
  )
}
