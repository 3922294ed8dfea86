import { useState } from 'preact/hooks'
import { type AccessTokenView, api, toPath } from '../../api/client.ts'
import { useResource } from '../../api/use-resource.ts'
import { closeDialog, openDialog, useRoute } from '../../router.ts'
import { shared } from '../../texts.ts'
import { ConfirmDialog } from '../../ui/confirm-dialog.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { CheckField, TextField } from '../../ui/field.tsx'
import { NameField } from '../../ui/name-field.tsx'
import { NamesField } from '../../ui/names-field.tsx'
import { Badge, Button, Card, Chips, Time } from '../../ui/parts.tsx'
import { withPassword } from '../../ui/password-proof.tsx'
import { ShownOnce } from '../../ui/shown-once.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { texts } from './texts.ts'

export function TokenCard() {
  const { query } = useRoute()
  const list = useResource('tokens', (signal) =>
    api.get<{ readonly tokens: readonly AccessTokenView[] }>('/account/tokens', {}, signal),
  )
  const { do: action, token } = query
  return (
    <Card
      title={texts.tokens.title}
      actions={<Button onClick={() => openDialog('add-token')}>{texts.tokens.add}</Button>}
    >
      <Loaded resource={list} what={texts.tokens.what}>
        {({ tokens }) =>
          tokens.length === 0 ? (
            <Empty title={texts.tokens.none} text={texts.tokens.text} />
          ) : (
            <Table caption={texts.tokens.title} columns={COLUMNS} rows={tokens} keyOf={({ name }) => name} />
          )
        }
      </Loaded>
      {action === 'add-token' && <AddToken onAdded={list.reload} />}
      {action === 'remove-token' && token && <RemoveToken name={token} onRemoved={list.reload} />}
    </Card>
  )
}

const COLUMNS: readonly Column<AccessTokenView>[] = [
  { label: shared.users.name, render: ({ name }) => <span class="mono">{name}</span> },
  {
    label: shared.users.status,
    render: ({ isActive }) =>
      isActive ? <Badge>{shared.users.active}</Badge> : <Badge tone="danger">{texts.tokens.ended}</Badge>,
  },
  { label: shared.users.expires, render: ({ expiresAt }) => <Time at={expiresAt} /> },
  { label: texts.tokens.used, render: ({ usedAt }) => (usedAt ? <Time at={usedAt} /> : texts.tokens.unused) },
  {
    label: shared.users.databases,
    render: ({ databases, access }) =>
      databases && (
        <>
          <Chips items={databases} /> {access && <Badge>{texts.tokens.readOnly}</Badge>}
        </>
      ),
  },
  {
    label: shared.actions.remove,
    kind: 'actions',
    render: ({ name }) => (
      <Button
        kind="quiet"
        aria-label={texts.tokens.removeOne(name)}
        onClick={() => openDialog('remove-token', { token: name })}
      >
        {shared.actions.remove}
      </Button>
    ),
  },
]

const DAY_MS = 86_400_000
const toDay = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

function AddToken({ onAdded }: { readonly onAdded: () => void }) {
  const [name, setName] = useState('')
  const [day, setDay] = useState(() => toDay(Date.now() + 90 * DAY_MS))
  const [databases, setDatabases] = useState<readonly string[]>([])
  const [isReadOnly, setReadOnly] = useState(false)
  const [text, setText] = useState('')
  const isLimited = databases.length > 0
  const add = async () => {
    const scope = isLimited && { databases, ...(isReadOnly && { access: 'ro' }) }
    const body = { name, expires: day, ...scope }
    const created = await withPassword((proof) =>
      api.post<{ readonly token: string }>('/account/tokens', { ...body, ...proof }),
    )
    setText(created.token)
    onAdded()
  }
  if (text !== '')
    return (
      <ShownOnce title={texts.tokens.created(name)} value={text} action={shared.actions.done} onClose={closeDialog} />
    )
  return (
    <FormDialog
      title={texts.tokens.add}
      action={texts.tokens.add}
      isReady={name !== '' && day !== ''}
      onClose={closeDialog}
      onSubmit={add}
    >
      <NameField hint={texts.tokens.nameHint} value={name} onValue={setName} />
      <TextField label={texts.tokens.expires} type="date" value={day} onValue={setDay} />
      <NamesField
        label={shared.users.databases}
        hint={texts.tokens.scopeHint}
        names={databases}
        onNames={setDatabases}
      />
      {isLimited && <CheckField label={texts.tokens.readOnlyHint} isChecked={isReadOnly} onChange={setReadOnly} />}
    </FormDialog>
  )
}

const RemoveToken = ({ name, onRemoved }: { readonly name: string; readonly onRemoved: () => void }) => (
  <ConfirmDialog
    label={texts.tokens.removeOne(name)}
    effect={texts.tokens.removeText}
    isDanger
    run={(proof) => api.delete(toPath('account', 'tokens', name), proof)}
    done={() => texts.tokens.removed(name)}
    onDone={onRemoved}
  />
)
