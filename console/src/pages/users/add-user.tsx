import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import type { User } from '../../api/types.ts'
import { navigate, toHref } from '../../router.ts'
import { texts } from '../../texts.ts'
import { FormDialog } from '../../ui/dialog.tsx'
import { CheckField, TextField } from '../../ui/field.tsx'
import { NewPassword } from '../../ui/new-password.tsx'
import { notify } from '../../ui/toast.tsx'

/** Role names separated by commas or blanks. */
export const readRoles = (text: string): readonly string[] => text.split(/[\s,]+/).filter((role) => role !== '')

interface AddUserProps {
  readonly onClose: () => void
  readonly onAdded: () => void
}

export function AddUser({ onClose, onAdded }: AddUserProps) {
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const [roles, setRoles] = useState('')
  const [isRefused, setRefused] = useState(false)
  const [mustChange, setMustChange] = useState(true)
  const add = async () => {
    const draft = {
      name,
      roles: readRoles(roles),
      ...(password && { password }),
      mustChangePassword: mustChange && password !== '',
    }
    const user = await api.post<User>('/users', draft)
    notify(texts.users.added(user.name))
    onAdded()
    navigate(toHref(['users', user.name]))
  }
  return (
    <FormDialog
      title={texts.users.add}
      action={texts.users.addAction}
      isReady={name !== '' && !isRefused}
      onClose={onClose}
      onSubmit={add}
    >
      <TextField
        label={texts.users.name}
        hint={texts.users.nameHint}
        isMono
        autoFocus
        autoComplete="off"
        autoCapitalize="none"
        spellcheck={false}
        value={name}
        onValue={setName}
      />
      <NewPassword label={texts.users.password} value={password} onValue={setPassword} onRefused={setRefused} />
      <CheckField label={texts.users.mustChangeLabel} isChecked={mustChange} onChange={setMustChange} />
      <TextField label={texts.users.roles} hint={texts.users.rolesHint} isMono value={roles} onValue={setRoles} />
    </FormDialog>
  )
}
