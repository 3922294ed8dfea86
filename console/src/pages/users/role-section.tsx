import { api, toPath, type UserDetails } from '../../api/client.ts'
import { texts } from '../../texts.ts'
import { AddForm } from '../../ui/add-form.tsx'
import { Chip } from '../../ui/names-field.tsx'
import { Section } from '../../ui/parts.tsx'
import { notify, notifyProblem } from '../../ui/toast.tsx'

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
      {canEdit && (
        <AddForm
          label={texts.users.addRole}
          of="roles"
          action={texts.actions.add}
          onAdd={(role) => change({ add: [role] }, texts.users.roleAdded(role, name))}
        />
      )}
    </Section>
  )
}
