import { useState } from 'preact/hooks'
import { api, type KeyRing, type SecretList } from '../../api/client.ts'
import { useResource } from '../../api/use-resource.ts'
import { Page } from '../../frame/page.tsx'
import { texts } from '../../texts.ts'
import { toDuration } from '../../times.ts'
import { ActionButton } from '../../ui/action-button.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { CheckField } from '../../ui/field.tsx'
import { Badge, Button, Card, Heading } from '../../ui/parts.tsx'
import { Guide, Loaded } from '../../ui/states.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { notify, notifyProblem } from '../../ui/toast.tsx'

const COOKIE_SECRET = 'chttpd_auth.secret'
const TOKEN_SECRETS = /^server\.jwt-secret/

/** The secrets that sign and verify, by their hashes. */
export function SecretsPage() {
  const resource = useResource('secrets', (signal) => api.get<SecretList>('/secrets', {}, signal))
  return (
    <Page>
      <Heading text={texts.secrets.intro}>
        <Reload onDone={resource.reload} />
      </Heading>
      <Loaded resource={resource} what={texts.secrets.what} shape="cards">
        {({ rings }) => (
          <div class="wide stack">
            {rings.map((ring) => (
              <Ring key={ring.option} ring={ring} onChange={resource.reload} />
            ))}
          </div>
        )}
      </Loaded>
    </Page>
  )
}

interface Reloaded {
  readonly reloaded: readonly { readonly option: string; readonly problem: string | null }[]
}

function Reload({ onDone }: { readonly onDone: () => void }) {
  const reload = async () => {
    const { reloaded } = await api.post<Reloaded>('/secrets/reload')
    const failed = reloaded.filter(({ problem }) => problem !== null)
    for (const { option, problem } of failed) notifyProblem(new Error(`${option}: ${problem}`))
    if (failed.length === 0) notify(texts.secrets.reloaded(reloaded.length))
    onDone()
  }
  return <ActionButton run={reload}>{texts.secrets.reload}</ActionButton>
}

function Ring({ ring, onChange }: { readonly ring: KeyRing; readonly onChange: () => void }) {
  const { option, use, source, problem, keys } = ring
  const actions = option === COOKIE_SECRET && <ReplaceCookieSecret onDone={onChange} />
  return (
    <Card title={use.charAt(0).toUpperCase() + use.slice(1)} actions={actions}>
      <p class="inside quiet">
        {texts.secrets.setBy} <span class="mono">{option}</span>
        {source !== option && (
          <>
            {' '}
            {texts.secrets.from} <span class="mono">{source}</span>
          </>
        )}
      </p>
      {TOKEN_SECRETS.test(option) && (
        <p class="inside quiet">
          {texts.secrets.rotate} <code>cardea secret rotate</code>. {texts.states.guide}{' '}
          <Guide path={texts.secrets.guide} />
        </p>
      )}
      {problem !== null && (
        <p class="notice danger" role="alert">
          {texts.secrets.failed} {problem}
        </p>
      )}
      <Keys title={use} keys={keys} />
    </Card>
  )
}

const Keys = ({ title, keys }: { readonly title: string; readonly keys: KeyRing['keys'] }) => (
  <Table
    caption={title}
    rows={keys}
    keyOf={({ hashPrefix, file = '' }) => `${file} ${hashPrefix}`}
    columns={toColumns(keys.some(({ file }) => file !== undefined))}
  />
)

type Key = KeyRing['keys'][number]

const FILE: Column<Key> = {
  label: texts.secrets.file,
  render: ({ file }) => file && <span class="mono">{file}</span>,
}

const toColumns = (hasFiles: boolean): readonly Column<Key>[] => [
  { label: texts.secrets.hash, render: ({ hashPrefix }) => <strong class="mono">{hashPrefix}</strong> },
  {
    label: texts.secrets.use,
    render: ({ isActive }) => (
      <Badge tone={isActive ? 'accent' : undefined}>{isActive ? texts.secrets.signs : texts.secrets.verifies}</Badge>
    ),
  },
  { label: texts.secrets.algorithm, render: ({ algorithm }) => <span class="mono">{algorithm}</span> },
  ...(hasFiles ? [FILE] : []),
  {
    label: texts.secrets.age,
    render: ({ ageSeconds }) => (ageSeconds === undefined ? texts.secrets.unknown : toDuration(ageSeconds)),
  },
]

function ReplaceCookieSecret({ onDone }: { readonly onDone: () => void }) {
  const [isOpen, setOpen] = useState(false)
  const [isImmediate, setImmediate] = useState(false)
  const replace = async () => {
    await api.post('/secrets/replacement', { now: isImmediate })
    setOpen(false)
    notify(texts.secrets.replaced)
    onDone()
  }
  return (
    <>
      <Button onClick={() => setOpen(true)}>{texts.secrets.replaceTitle}</Button>
      {isOpen && (
        <FormDialog
          title={texts.secrets.replaceTitle}
          action={texts.secrets.replaceTitle}
          isDanger={isImmediate}
          onClose={() => setOpen(false)}
          onSubmit={replace}
        >
          <p>{isImmediate ? texts.secrets.replaceNow : texts.secrets.replaceText}</p>
          <CheckField label={texts.secrets.immediately} isChecked={isImmediate} onChange={setImmediate} />
        </FormDialog>
      )}
    </>
  )
}
