import { useState } from 'preact/hooks'
import { api, type GrantLevel, type PasswordLink, toPath, type User, type UserDetails } from '../../api/client.ts'
import { closeDialog, navigate, toHref } from '../../router.ts'
import { texts } from '../../texts.ts'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { CheckField, TextField } from '../../ui/field.tsx'
import { NameField } from '../../ui/name-field.tsx'
import { NamesField } from '../../ui/names-field.tsx'
import { NewPassword, useNewPassword } from '../../ui/new-password.tsx'
import { Time } from '../../ui/parts.tsx'
import { SetPasswordDialog } from '../../ui/set-password-dialog.tsx'
import { ShownOnce } from '../../ui/shown-once.tsx'
import { notify, notifyProblem } from '../../ui/toast.tsx'
import { LevelChoice } from './rights-section.tsx'
import { CONFIRMED_ACTIONS, type UserAction } from './user-actions.tsx'

interface UserDialogProps {
  readonly action: string | undefined
  readonly user: UserDetails
  readonly back: string
  readonly onChange: () => void
}

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
  readonly user: UserDetails
  readonly onChange: () => void
}

function SetPassword({ user: { name, sessions }, onChange }: EditProps) {
  const [mustChange, setMustChange] = useState(true)
  return (
    <SetPasswordDialog
      name={name}
      effect={texts.users.sessionsEnd(sessions)}
      save={(password, proof) =>
        api.put(toPath('users', name, 'password'), { password, mustChangePassword: mustChange, ...proof })
      }
      onDone={() => {
        notify(texts.users.passwordSet(name))
        onChange()
      }}
    >
      <CheckField label={texts.users.mustChangeLabel} isChecked={mustChange} onChange={setMustChange} />
    </SetPasswordDialog>
  )
}

function CreateLink({ user: { name } }: { readonly user: UserDetails }) {
  const [link, setLink] = useState<PasswordLink>()
  const create = async () => setLink(await api.post<PasswordLink>(toPath('users', name, 'password-link')))
  if (link) return <ShownLink name={name} link={link} onClose={closeDialog} />
  return (
    <FormDialog
      title={texts.users.linkFor(name)}
      action={texts.users.createLink}
      onClose={closeDialog}
      onSubmit={create}
    >
      <p>{texts.users.linkText}</p>
    </FormDialog>
  )
}

interface ShownLinkProps {
  readonly name: string
  readonly link: PasswordLink
  readonly onClose: () => void
}

const ShownLink = ({ name, link, onClose }: ShownLinkProps) => (
  <ShownOnce
    title={texts.users.linkFor(name)}
    value={new URL(link.url, location.href).href}
    action={texts.actions.done}
    onClose={onClose}
  >
    <p class="quiet">
      {texts.users.linkExpires} <Time at={link.expiresAt} />
    </p>
  </ShownOnce>
)

function SetExpiry({ user: { name, expires }, onChange }: EditProps) {
  const [day, setDay] = useState(expires?.slice(0, 10) ?? '')
  const save = async () => {
    await api.put(toPath('users', name, 'expiry'), { expires: day === '' ? null : day })
    notify(day === '' ? texts.users.neverExpires(name) : texts.users.expiresOn(name, day))
    onChange()
    closeDialog()
  }
  return (
    <FormDialog
      title={texts.users.expiryOf(name)}
      action={texts.users.saveExpiry(name)}
      onClose={closeDialog}
      onSubmit={save}
    >
      <TextField label={texts.users.expiryDay} hint={texts.users.expiryHint} type="date" value={day} onValue={setDay} />
    </FormDialog>
  )
}

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
