import { useState } from 'preact/hooks'
import { api, type GrantLevelView, type GrantView, toPath, type UserDetailsView } from '../../api/client.ts'
import { shared } from '../../texts.ts'
import { ActionButton } from '../../ui/action-button.tsx'
import { AddForm, type AddFormProps } from '../../ui/add-form.tsx'
import { Options } from '../../ui/field.tsx'
import { Chip } from '../../ui/names-field.tsx'
import { Section } from '../../ui/parts.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { notify, notifyProblem } from '../../ui/toast.tsx'
import { texts } from './texts.ts'

interface Row {
  readonly database: string
  readonly collection?: string
  readonly level: GrantLevelView
}

const toRows = (grants: Readonly<Record<string, GrantView>>): readonly Row[] =>
  Object.entries(grants).flatMap(([database, { level, collections = {} }]) => [
    ...(level ? [{ database, level }] : []),
    ...Object.entries(collections).map(([collection, each]) => ({ database, collection, level: each })),
  ])

const placeOf = ({ database, collection }: Pick<Row, 'database' | 'collection'>): string =>
  collection === undefined ? database : `${database} / ${collection}`

/** Grants of the multi-model door. */
export function GrantSection({ user: { name, grants }, canEdit, onChange }: EditedUser) {
  const set = async (place: Pick<Row, 'database' | 'collection'>, level: GrantLevelView | null) => {
    await api.put(toPath('users', name, 'grants'), { ...place, level })
    notify(shared.users.grantChanged(placeOf(place), level))
    onChange()
  }
  const rows = toRows(grants)
  return (
    <Section title={texts.grants}>
      {rows.length === 0 && <p class="quiet">{texts.noGrants}</p>}
      {rows.length > 0 && (
        <Table caption={texts.grants} columns={toColumns(canEdit ? set : undefined)} rows={rows} keyOf={placeOf} />
      )}
      {canEdit && (
        <AddGrant
          label={shared.users.database}
          hint={texts.databaseHint}
          of="databases"
          onAdd={(database, level) => set({ database }, level)}
        />
      )}
      {canEdit && <p class="quiet">{texts.managerHint}</p>}
    </Section>
  )
}

type SetGrant = (place: Pick<Row, 'database' | 'collection'>, level: GrantLevelView | null) => Promise<void>

const toColumns = (set: SetGrant | undefined): readonly Column<Row>[] => [
  { label: shared.users.database, render: (row) => <span class="mono">{placeOf(row)}</span> },
  { label: shared.users.level, render: ({ level }) => shared.users.levels[level] },
  ...(set ? [toRemoval<Row>((row) => [texts.removeGrant(placeOf(row)), () => set(toPlace(row), null)])] : []),
]

/** The column with a button that removes the grant of a row; `undefined`: there is none to remove. */
export const toRemoval = <T,>(
  of: (row: T) => readonly [label: string, remove: () => Promise<unknown>] | undefined,
): Column<T> => ({
  label: shared.actions.remove,
  kind: 'actions',
  render: (row) => {
    const [label, remove] = of(row) ?? []
    return (
      remove && (
        <ActionButton kind="quiet" aria-label={label} run={remove}>
          {shared.actions.remove}
        </ActionButton>
      )
    )
  },
})

const toPlace = ({ database, collection }: Row) => ({ database, ...(collection !== undefined && { collection }) })

interface AddGrantProps extends Pick<AddFormProps, 'label' | 'hint' | 'of'> {
  readonly onAdd: (name: string, level: GrantLevelView) => Promise<unknown>
}

/** Grants a level: a database to a user, or to a user a database. */
export function AddGrant({ onAdd, ...form }: AddGrantProps) {
  const [level, setLevel] = useState<GrantLevelView>('rw')
  return (
    <AddForm {...form} action={texts.grant} onAdd={(name) => onAdd(name, level)}>
      <LevelChoice level={level} onChange={setLevel} />
    </AddForm>
  )
}

interface LevelChoiceProps {
  readonly level: GrantLevelView
  readonly onChange: (level: GrantLevelView) => void
}

export const LevelChoice = ({ level, onChange }: LevelChoiceProps) => (
  <select
    class="input"
    aria-label={shared.users.level}
    value={level}
    onChange={(event) => onChange(event.currentTarget.value as GrantLevelView)}
  >
    <Options of={Object.entries(shared.users.levels)} />
  </select>
)

export interface EditedUser {
  readonly user: UserDetailsView
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
    <Section title={shared.users.roles}>
      {roles.length === 0 && <p class="quiet">{shared.users.noRoles}</p>}
      <div class="chips">
        {roles.map((role) => (
          <Chip
            key={role}
            name={role}
            label={texts.removeRole(role)}
            onRemove={
              canEdit ? () => change({ remove: [role] }, texts.roleRemoved(role, name)).catch(notifyProblem) : undefined
            }
          />
        ))}
      </div>
      {canEdit && (
        <AddForm
          label={texts.addRole}
          of="roles"
          action={shared.actions.add}
          onAdd={(role) => change({ add: [role] }, texts.roleAdded(role, name))}
        />
      )}
    </Section>
  )
}
