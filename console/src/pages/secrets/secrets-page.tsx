import { useState } from 'preact/hooks'
import { api, type KeyRingView, type SecretListView } from '../../api/client.ts'
import { useResource } from '../../api/use-resource.ts'
import { Page } from '../../frame/page.tsx'
import { shared } from '../../texts.ts'
import { toDuration } from '../../times.ts'
import { ActionButton } from '../../ui/action-button.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { CheckField } from '../../ui/field.tsx'
import { Badge, Button, Card, Heading } from '../../ui/parts.tsx'
import { Guide, Loaded } from '../../ui/states.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { notify, notifyProblem } from '../../ui/toast.tsx'
import { texts } from './texts.ts'

const COOKIE_SECRET = 'chttpd_auth.secret'
const TOKEN_SECRETS = /^server\.jwt-secret/

/** The secrets that sign and verify, by their hashes. */
export function SecretsPage() {
  const resource = useResource('secrets', (signal) => api.get<SecretListView>('/secrets', {}, signal))
  return (
    <Page>
      <Heading text={texts.intro}>
        <Reload onDone={resource.reload} />
      </Heading>
      <Loaded resource={resource} what={texts.what} shape="cards">
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
    if (failed.length === 0) notify(texts.reloaded(reloaded.length))
    onDone()
  }
  return <ActionButton run={reload}>{texts.reload}</ActionButton>
}

function Ring({ ring, onChange }: { readonly ring: KeyRingView; readonly onChange: () => void }) {
  const { option, use, source, problem, keys } = ring
  const actions = option === COOKIE_SECRET && <ReplaceCookieSecret onDone={onChange} />
  return (
    <Card title={use.charAt(0).toUpperCase() + use.slice(1)} actions={actions}>
      <p class="inside quiet">
        {texts.setBy} <span class="mono">{option}</span>
        {source !== option && (
          <>
            {' '}
            {texts.from} <span class="mono">{source}</span>
          </>
        )}
      </p>
      {TOKEN_SECRETS.test(option) && (
        <p class="inside quiet">
          {texts.rotate} <code>cardea secret rotate</code>. {shared.states.guide} <Guide path={texts.guide} />
        </p>
      )}
      {problem !== null && (
        <p class="notice danger" role="alert">
          {texts.failed} {problem}
        </p>
      )}
      <Keys title={use} keys={keys} />
    </Card>
  )
}

const Keys = ({ title, keys }: { readonly title: string; readonly keys: KeyRingView['keys'] }) => (
  <Table
    caption={title}
    rows={keys}
    keyOf={({ hashPrefix, file = '' }) => `${file} ${hashPrefix}`}
    columns={toColumns(keys.some(({ file }) => file !== undefined))}
  />
)

type Key = KeyRingView['keys'][number]

const FILE: Column<Key> = {
  label: texts.file,
  render: ({ file }) => file && <span class="mono">{file}</span>,
}

const toColumns = (hasFiles: boolean): readonly Column<Key>[] => [
  { label: texts.hash, render: ({ hashPrefix }) => <strong class="mono">{hashPrefix}</strong> },
  {
    label: texts.use,
    render: ({ isActive }) => (
      <Badge tone={isActive ? 'accent' : undefined}>{isActive ? texts.signs : texts.verifies}</Badge>
    ),
  },
  { label: texts.algorithm, render: ({ algorithm }) => <span class="mono">{algorithm}</span> },
  ...(hasFiles ? [FILE] : []),
  {
    label: texts.age,
    render: ({ ageSeconds }) => (ageSeconds === undefined ? texts.unknown : toDuration(ageSeconds)),
  },
]

function ReplaceCookieSecret({ onDone }: { readonly onDone: () => void }) {
  const [isOpen, setOpen] = useState(false)
  const [isImmediate, setImmediate] = useState(false)
  const replace = async () => {
    await api.post('/secrets/replacement', { now: isImmediate })
    setOpen(false)
    notify(texts.replaced)
    onDone()
  }
  return (
    <>
      <Button onClick={() => setOpen(true)}>{texts.replaceTitle}</Button>
      {isOpen && (
        <FormDialog
          title={texts.replaceTitle}
          action={texts.replaceTitle}
          isDanger={isImmediate}
          onClose={() => setOpen(false)}
          onSubmit={replace}
        >
          <p>{isImmediate ? texts.replaceNow : texts.replaceText}</p>
          <CheckField label={texts.immediately} isChecked={isImmediate} onChange={setImmediate} />
        </FormDialog>
      )}
    </>
  )
}
