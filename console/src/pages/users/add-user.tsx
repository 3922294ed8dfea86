import { useState } from 'preact/hooks'
import { api, toPath } from '../../api/client.ts'
import type { GrantLevel, PasswordLink, User } from '../../api/types.ts'
import { closeDialog, navigate, toHref } from '../../router.ts'
import { texts } from '../../texts.ts'
import { FormDialog } from '../../ui/dialog.tsx'
import { CheckField, Field, TextField } from '../../ui/field.tsx'
import { NameField, readNames } from '../../ui/name-field.tsx'
import { NewPassword, useNewPassword } from '../../ui/new-password.tsx'
import { notify, notifyProblem } from '../../ui/toast.tsx'
import { LevelChoice } from './grant-section.tsx'
import { Suggestions } from './suggestions.tsx'
import { ShownLink } from './user-dialogs.tsx'

export function AddUser({ onAdded }: { readonly onAdded: () => void }) {
  const [name, setName] = useState('')
  const [roles, setRoles] = useState('')
  const [databases, setDatabases] = useState('')
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
      roles: readNames(roles),
      grants: readNames(databases).map((database) => ({ database, level })),
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
      <TextField
        label={texts.users.roles}
        hint={texts.users.rolesHint}
        isMono
        autoComplete="off"
        list="new-roles"
        value={roles}
        onValue={setRoles}
      />
      <Suggestions id="new-roles" of="roles" typed={roles} />
      <Field label={texts.users.grants} hint={texts.users.databasesHint}>
        {(control) => (
          <div class="input-row">
            <input
              {...control}
              class="input mono"
              autoComplete="off"
              list="new-databases"
              value={databases}
              onInput={(event) => setDatabases(event.currentTarget.value)}
            />
            <LevelChoice level={level} onChange={setLevel} />
          </div>
        )}
      </Field>
      <Suggestions id="new-databases" of="databases" typed={databases} />
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
