import { useState } from 'preact/hooks'
import type { PasswordLinkView } from '../../../../src/modules/password-links/schemas.ts'
import { api, type GrantLevelView, type ListedUserView, toPath, type UserDetailsView } from '../../api/client.ts'
import { CreateLink, createLink, ShownLink } from '../../modules/password-links/link-dialog.tsx'
import { linkTexts } from '../../modules/password-links/texts.ts'
import { closeDialog, navigate, toHref } from '../../router.ts'
import { shared } from '../../texts.ts'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { CheckField, TextField } from '../../ui/field.tsx'
import { NameField } from '../../ui/name-field.tsx'
import { NamesField } from '../../ui/names-field.tsx'
import { NewPassword, useNewPassword } from '../../ui/new-password.tsx'
import { SetPasswordDialog } from '../../ui/set-password-dialog.tsx'
import { notify, notifyProblem } from '../../ui/toast.tsx'
import { LevelChoice } from './rights-section.tsx'
import { texts } from './texts.ts'
import { CONFIRMED_ACTIONS, type UserAction } from './user-actions.tsx'

interface UserDialogProps {
  readonly action: string | undefined
  readonly user: UserDetailsView
  readonly back: string
  readonly onChange: () => void
}

/** The dialog that the address names. */
export function UserDialog({ action = '', user, back, onChange }: UserDialogProps) {
  const confirmed = CONFIRMED_ACTIONS[action]
  if (confirmed) return <Confirm action={confirmed} user={user} back={back} onChange={onChange} />
  if (action === 'password') return <SetPassword user={user} onChange={onChange} />
  if (action === 'link') return <CreateLink name={user.name} />
  if (action === 'expire') return <SetExpiry user={user} onChange={onChange} />
  return null
}

interface ConfirmProps extends Omit<UserDialogProps, 'action'> {
  readonly action: UserAction
}

function Confirm({ action, user, back, onChange }: ConfirmProps) {
  const { name } = user
  const finish = () => {
    onChange()
    if (action.removes) navigate(back)
  }
  return (
    <ConfirmDialog
      label={action.label(name)}
      effect={action.effect(user)}
      isDanger={action.isDanger ?? false}
      run={(proof) => action.run(name, proof)}
      done={() => action.done(name)}
      onDone={finish}
    />
  )
}

interface EditProps {
  readonly user: UserDetailsView
  readonly onChange: () => void
}

function SetPassword({ user: { name, sessions }, onChange }: EditProps) {
  const [mustChange, setMustChange] = useState(true)
  return (
    <SetPasswordDialog
      name={name}
      effect={shared.users.sessionsEnd(sessions)}
      save={(password, proof) =>
        api.put(toPath('users', name, 'password'), { password, mustChangePassword: mustChange, ...proof })
      }
      onDone={() => {
        notify(shared.users.passwordSet(name))
        onChange()
      }}
    >
      <CheckField label={texts.mustChangeLabel} isChecked={mustChange} onChange={setMustChange} />
    </SetPasswordDialog>
  )
}

function SetExpiry({ user: { name, expires }, onChange }: EditProps) {
  const [day, setDay] = useState(expires?.slice(0, 10) ?? '')
  const save = async () => {
    await api.put(toPath('users', name, 'expiry'), { expires: day === '' ? null : day })
    notify(day === '' ? texts.neverExpires(name) : texts.expiresOn(name, day))
    onChange()
    closeDialog()
  }
  return (
    <FormDialog title={texts.expiryOf(name)} action={texts.saveExpiry(name)} onClose={closeDialog} onSubmit={save}>
      <TextField label={texts.expiryDay} hint={texts.expiryHint} type="date" value={day} onValue={setDay} />
    </FormDialog>
  )
}

export function AddUser({ onAdded }: { readonly onAdded: () => void }) {
  const [name, setName] = useState('')
  const [roles, setRoles] = useState<readonly string[]>([])
  const [databases, setDatabases] = useState<readonly string[]>([])
  const [level, setLevel] = useState<GrantLevelView>('rw')
  const [expires, setExpires] = useState('')
  const [hasLink, setHasLink] = useState(false)
  const [mustChange, setMustChange] = useState(true)
  const [link, setLink] = useState<PasswordLinkView>()
  const password = useNewPassword()
  const showUser = () => navigate(toHref(['users', name]))
  const add = async () => {
    await api.post<ListedUserView>('/users', {
      name,
      roles,
      grants: databases.map((database) => ({ database, level })),
      ...(expires && { expires }),
      ...(!hasLink && password.value && { password: password.value, mustChangePassword: mustChange }),
    })
    notify(texts.added(name))
    onAdded()
    if (!hasLink) return showUser()
    // the user is there already: what failed can be repeated in its panel
    const created = await createLink(name).catch(notifyProblem)
    if (created) setLink(created)
    else showUser()
  }
  if (link) return <ShownLink name={name} link={link} onClose={showUser} />
  return (
    <FormDialog
      title={texts.add}
      action={texts.add}
      isReady={name !== '' && (hasLink || !password.isRefused)}
      onClose={closeDialog}
      onSubmit={add}
    >
      <NameField hint={texts.nameHint} value={name} onValue={setName} />
      {!hasLink && (
        <>
          <NewPassword label={shared.users.password} {...password.field} owner={name} />
          <CheckField label={texts.mustChangeLabel} isChecked={mustChange} onChange={setMustChange} />
        </>
      )}
      <CheckField label={linkTexts.instead} isChecked={hasLink} onChange={setHasLink} />
      <NamesField label={shared.users.roles} names={roles} onNames={setRoles} of="roles" />
      <NamesField
        label={texts.grants}
        hint={texts.databasesHint}
        names={databases}
        onNames={setDatabases}
        of="databases"
      >
        <LevelChoice level={level} onChange={setLevel} />
      </NamesField>
      <TextField label={texts.expiryDay} hint={texts.expiryHint} type="date" value={expires} onValue={setExpires} />
    </FormDialog>
  )
}
