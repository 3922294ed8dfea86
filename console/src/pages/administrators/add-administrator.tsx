import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { closeDialog, navigate, toHref } from '../../router.ts'
import { texts } from '../../texts.ts'
import { FormDialog } from '../../ui/dialog.tsx'
import { NameField } from '../../ui/name-field.tsx'
import { NewPassword, useNewPassword } from '../../ui/new-password.tsx'
import { notify } from '../../ui/toast.tsx'

export function AddAdministrator({ onAdded }: { readonly onAdded: () => void }) {
  const [name, setName] = useState('')
  const password = useNewPassword()
  const add = async () => {
    await api.post('/administrators', { name, password: password.value })
    notify(texts.administrators.added(name))
    onAdded()
    navigate(toHref(['administrators', name]))
  }
  return (
    <FormDialog
      title={texts.administrators.add}
      action={texts.administrators.add}
      isReady={name !== '' && password.value !== '' && !password.isRefused}
      onClose={closeDialog}
      onSubmit={add}
    >
      <p>{texts.administrators.addText}</p>
      <NameField value={name} onValue={setName} />
      <NewPassword label={texts.users.password} {...password.field} />
    </FormDialog>
  )
}
