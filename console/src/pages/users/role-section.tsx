import { useState } from 'preact/hooks'
import { api, toPath } from '../../api/client.ts'
import type { UserDetails } from '../../api/types.ts'
import { texts } from '../../texts.ts'
import { Button } from '../../ui/button.tsx'
import { Problem } from '../../ui/field.tsx'
import { Chip } from '../../ui/names-field.tsx'
import { Section } from '../../ui/parts.tsx'
import { Suggestions } from '../../ui/suggestions.tsx'
import { notify, notifyProblem } from '../../ui/toast.tsx'
import { useSubmit } from '../../ui/use-submit.ts'

export interface EditedUser {
  readonly user: UserDetails
  readonly canEdit: boolean
  readonly onChange: () => void
}

export function RoleSection({ user: { name, roles }, canEdit, onChange }: EditedUser) {
  const change = async (body: object, text: string) => {
    await api.put(toPath('users', name, 'roles'), body)
    notify(text)
    onChange()
  }
  return (
    <Section title={texts.users.roles}>
      {roles.length === 0 && <p class="quiet">{texts.users.noRoles}</p>}
      <div class="chips">
        {roles.map((role) => (
          <Chip
            key={role}
            name={role}
            label={texts.users.removeRole(role)}
            onRemove={
              canEdit
                ? () => change({ remove: [role] }, texts.users.roleRemoved(role, name)).catch(notifyProblem)
                : undefined
            }
          />
        ))}
      </div>
      {canEdit && <AddRole onAdd={(role) => change({ add: [role] }, texts.users.roleAdded(role, name))} />}
    </Section>
  )
}

function AddRole({ onAdd }: { readonly onAdd: (role: string) => Promise<void> }) {
  const [text, setText] = useState('')
  const { submit, isBusy, problem } = useSubmit(async () => {
    const role = text.trim()
    if (role !== '') await onAdd(role)
    setText('')
  })
  return (
    <form class="input-row" onSubmit={submit}>
      <input
        class="input mono"
        aria-label={texts.users.addRole}
        placeholder={texts.users.addRole}
        autoComplete="off"
        list="known-roles"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <Suggestions id="known-roles" of="roles" typed={text} />
      <Button type="submit" isBusy={isBusy}>
        {texts.actions.add}
      </Button>
      <Problem text={problem} />
    </form>
  )
}
