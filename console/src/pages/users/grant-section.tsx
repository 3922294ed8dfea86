import { useState } from 'preact/hooks'
import { api, toPath } from '../../api/client.ts'
import type { Grant, GrantLevel } from '../../api/types.ts'
import { texts } from '../../texts.ts'
import { Button } from '../../ui/button.tsx'
import { Problem } from '../../ui/field.tsx'
import { Section } from '../../ui/parts.tsx'
import { Suggestions } from '../../ui/suggestions.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { notify, notifyProblem } from '../../ui/toast.tsx'
import { useSubmit } from '../../ui/use-submit.ts'
import type { EditedUser } from './role-section.tsx'

interface Row {
  readonly database: string
  readonly collection?: string
  readonly level: GrantLevel
}

const toRows = (grants: Readonly<Record<string, Grant>>): readonly Row[] =>
  Object.entries(grants).flatMap(([database, { level, collections = {} }]) => [
    ...(level ? [{ database, level }] : []),
    ...Object.entries(collections).map(([collection, each]) => ({ database, collection, level: each })),
  ])

const placeOf = ({ database, collection }: Pick<Row, 'database' | 'collection'>): string =>
  collection === undefined ? database : `${database} / ${collection}`

/** Grants of the multi-model door. */
export function GrantSection({ user: { name, grants }, canEdit, onChange }: EditedUser) {
  const set = async (place: Pick<Row, 'database' | 'collection'>, level: GrantLevel | null) => {
    await api.put(toPath('users', name, 'grants'), { ...place, level })
    notify(texts.users.grantChanged(placeOf(place), level))
    onChange()
  }
  const rows = toRows(grants)
  return (
    <Section title={texts.users.grants}>
      {rows.length === 0 && <p class="quiet">{texts.users.noGrants}</p>}
      {rows.length > 0 && (
        <Table
          caption={texts.users.grants}
          columns={toColumns(canEdit ? set : undefined)}
          rows={rows}
          keyOf={placeOf}
        />
      )}
      {canEdit && <AddGrant onAdd={set} />}
      {canEdit && <p class="quiet">{texts.users.managerHint}</p>}
    </Section>
  )
}

type SetGrant = (place: Pick<Row, 'database' | 'collection'>, level: GrantLevel | null) => Promise<void>

function toColumns(set: SetGrant | undefined): readonly Column<Row>[] {
  const removal: Column<Row> = {
    label: texts.actions.remove,
    kind: 'actions',
    render: (row) => (
      <Button
        kind="quiet"
        aria-label={texts.users.removeGrant(placeOf(row))}
        onClick={() => set?.(toPlace(row), null).catch(notifyProblem)}
      >
        {texts.actions.remove}
      </Button>
    ),
  }
  return [
    { label: texts.users.database, render: (row) => <span class="mono">{placeOf(row)}</span> },
    { label: texts.users.level, render: ({ level }) => texts.users.levels[level] },
    ...(set ? [removal] : []),
  ]
}

const toPlace = ({ database, collection }: Row) => ({ database, ...(collection !== undefined && { collection }) })

function AddGrant({ onAdd }: { readonly onAdd: SetGrant }) {
  const [database, setDatabase] = useState('')
  const [level, setLevel] = useState<GrantLevel>('rw')
  const { submit, isBusy, problem } = useSubmit(async () => {
    if (database !== '') await onAdd({ database }, level)
    setDatabase('')
  })
  return (
    <form class="input-row" onSubmit={submit}>
      <input
        class="input mono"
        aria-label={texts.users.database}
        placeholder={texts.users.databaseHint}
        autoComplete="off"
        list="known-databases"
        value={database}
        onInput={(event) => setDatabase(event.currentTarget.value)}
      />
      <Suggestions id="known-databases" of="databases" typed={database} />
      <LevelChoice level={level} onChange={setLevel} />
      <Button type="submit" isBusy={isBusy}>
        {texts.users.grant}
      </Button>
      <Problem text={problem} />
    </form>
  )
}

interface LevelChoiceProps {
  readonly level: GrantLevel
  readonly onChange: (level: GrantLevel) => void
}

export const LevelChoice = ({ level, onChange }: LevelChoiceProps) => (
  <select
    class="input"
    aria-label={texts.users.level}
    value={level}
    onChange={(event) => onChange(event.currentTarget.value as GrantLevel)}
  >
    {Object.entries(texts.users.levels).map(([value, label]) => (
      <option key={value} value={value}>
        {label}
      </option>
    ))}
  </select>
)
