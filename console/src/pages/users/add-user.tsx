import { useState } from 'preact/hooks'
import { api, type GrantLevel, type PasswordLink, toPath, type User } from '../../api/client.ts'
import { closeDialog, navigate, toHref } from '../../router.ts'
import { texts } from '../../texts.ts'
import { FormDialog } from '../../ui/dialog.tsx'
import { CheckField, TextField } from '../../ui/field.tsx'
import { NameField } from '../../ui/name-field.tsx'
import { NamesField } from '../../ui/names-field.tsx'
import { NewPassword, useNewPassword } from '../../ui/new-password.tsx'
import { notify, notifyProblem } from '../../ui/toast.tsx'
import { LevelChoice } from './grant-section.tsx'
import { ShownLink } from './user-dialogs.tsx'

export function AddUser({ onAdded }: { readonly onAdded: () => void }) {
  const [name, setName] = useState('')
  const [roles, setRoles] = useState<readonly string[]>([])
  const [databases, setDatabases] = useState<readonly string[]>([])
  const [level, setLevel] = useState<GrantLevel>('rw')
  const [expires, setExpires] = useState('')
  const [hasLink, setHasLink] = useState(false)
  const [mustChange, setMustChange] = useState(true)
  const [link, setLink] = useState<PasswordLink>()
  const password = useNewPassword()
  const showUser = () => navigate(toHref(['users', name]))
  const add = async () => {
    await api.post<User>('/users', {
      name,
      roles,
      grants: databases.map((database) => ({ database, level })),
      ...(expires && { expires }),
      ...(!hasLink && password.value && { password: password.value, mustChangePassword: mustChange }),
    })
    notify(texts.users.added(name))
    onAdded()
    if (!hasLink) return showUser()
    // the user is there already: what failed can be repeated in its panel
    const created = await api.post<PasswordLink>(toPath('users', name, 'password-link')).catch(notifyProblem)
    if (created) setLink(created)
    else showUser()
  }
  if (link) return <ShownLink name={name} link={link} onClose={showUser} />
  return (
    <FormDialog
      title={texts.users.add}
      action={texts.users.add}
      isReady={name !== '' && (hasLink || !password.isRefused)}
      onClose={closeDialog}
      onSubmit={add}
    >
      <NameField hint={texts.users.nameHint} value={name} onValue={setName} />
      {!hasLink && (
        <>
          <NewPassword label={texts.users.password} {...password.field} />
          <CheckField label={texts.users.mustChangeLabel} isChecked={mustChange} onChange={setMustChange} />
        </>
      )}
      <CheckField label={texts.users.linkInstead} isChecked={hasLink} onChange={setHasLink} />
      <NamesField label={texts.users.roles} names={roles} onNames={setRoles} of="roles" />
      <NamesField
        label={texts.users.grants}
        hint={texts.users.databasesHint}
        names={databases}
        onNames={setDatabases}
        of="databases"
      >
        <LevelChoice level={level} onChange={setLevel} />
      </NamesField>
      <TextField
        label={texts.users.expiryDay}
        hint={texts.users.expiryHint}
        type="date"
        value={expires}
        onValue={setExpires}
      />
    </FormDialog>
  )
}
