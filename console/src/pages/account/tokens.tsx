import { useState } from 'preact/hooks'
import { api, toPath } from '../../api/client.ts'
import type { AccessToken } from '../../api/types.ts'
import { useResource } from '../../api/use-resource.ts'
import { changeQuery, useRoute } from '../../router.ts'
import { texts } from '../../texts.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog, FormDialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Badge, Card, Chips, ShownOnce } from '../../ui/parts.tsx'
import { withPassword } from '../../ui/password-proof.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { Time } from '../../ui/time.tsx'
import { notify } from '../../ui/toast.tsx'
import { readRoles as readNames } from '../users/add-user.tsx'

const open = (values: Readonly<Record<string, string>>) => changeQuery(values, { replaces: false })
const close = () => changeQuery({ do: undefined, token: undefined })

export function TokenCard() {
  const { query } = useRoute()
  const list = useResource('tokens', (signal) =>
    api.get<{ readonly tokens: readonly AccessToken[] }>('/account/tokens', {}, signal),
  )
  const { do: action, token } = query
  return (
    <Card
      title={texts.tokens.title}
      actions={<Button onClick={() => open({ do: 'add-token' })}>{texts.tokens.add}</Button>}
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

const COLUMNS: readonly Column<AccessToken>[] = [
  { label: texts.users.name, render: ({ name }) => <span class="mono">{name}</span> },
  {
    label: texts.users.status,
    render: ({ isActive }) =>
      isActive ? <Badge>{texts.users.active}</Badge> : <Badge tone="danger">{texts.tokens.ended}</Badge>,
  },
  { label: texts.users.expires, render: ({ expiresAt }) => <Time at={expiresAt} /> },
  { label: texts.tokens.used, render: ({ usedAt }) => (usedAt ? <Time at={usedAt} /> : texts.tokens.unused) },
  { label: texts.users.databases, render: ({ databases }) => databases && <Chips items={databases} /> },
  {
    label: texts.actions.remove,
    kind: 'actions',
    render: ({ name }) => (
      <Button
        kind="quiet"
        aria-label={texts.tokens.removeOne(name)}
        onClick={() => open({ do: 'remove-token', token: name })}
      >
        {texts.actions.remove}
      </Button>
    ),
  },
]

const DAY_MS = 86_400_000
const toDay = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

function AddToken({ onAdded }: { readonly onAdded: () => void }) {
  const [name, setName] = useState('')
  const [day, setDay] = useState(() => toDay(Date.now() + 90 * DAY_MS))
  const [databases, setDatabases] = useState('')
  const [text, setText] = useState('')
  const add = async () => {
    const names = readNames(databases)
    const body = { name, expires: day, ...(names.length > 0 && { databases: names }) }
    const created = await withPassword((proof) =>
      api.post<{ readonly token: string }>('/account/tokens', { ...body, ...proof }),
    )
    setText(created.token)
    onAdded()
  }
  if (text !== '') return <NewToken name={name} text={text} />
  return (
    <FormDialog
      title={texts.tokens.add}
      action={texts.tokens.add}
      isReady={name !== '' && day !== ''}
      onClose={close}
      onSubmit={add}
    >
      <TextField
        label={texts.users.name}
        hint={texts.tokens.nameHint}
        isMono
        autoComplete="off"
        value={name}
        onValue={setName}
      />
      <TextField label={texts.tokens.expires} type="date" value={day} onValue={setDay} />
      <TextField
        label={texts.users.databases}
        hint={texts.tokens.scopeHint}
        isMono
        value={databases}
        onValue={setDatabases}
      />
    </FormDialog>
  )
}

const NewToken = ({ name, text }: { readonly name: string; readonly text: string }) => (
  <Dialog title={texts.tokens.created(name)} onClose={close}>
    <ShownOnce label={texts.tokens.created(name)} value={text} />
    <div class="row end">
      <Button kind="primary" onClick={close}>
        {texts.actions.done}
      </Button>
    </div>
  </Dialog>
)

function RemoveToken({ name, onRemoved }: { readonly name: string; readonly onRemoved: () => void }) {
  const run = async () => {
    await withPassword((proof) => api.delete(toPath('account', 'tokens', name), proof))
    notify(texts.tokens.removed(name))
    onRemoved()
    close()
  }
  return (
    <FormDialog
      title={texts.tokens.removeOne(name)}
      action={texts.tokens.removeOne(name)}
      isDanger
      onClose={close}
      onSubmit={run}
    >
      <p>{texts.tokens.removeText}</p>
    </FormDialog>
  )
}
