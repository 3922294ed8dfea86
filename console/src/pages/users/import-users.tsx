import { useRef, useState } from 'preact/hooks'
import { useResource } from '../../api/use-resource.ts'
import { shared } from '../../texts.ts'
import { Dialog, FormDialog } from '../../ui/dialog.tsx'
import { CheckField, Field } from '../../ui/field.tsx'
import { Badge, Button, Facts } from '../../ui/parts.tsx'
import { Loaded, Progress } from '../../ui/states.tsx'
import { Table } from '../../ui/table.tsx'
import { type Kind, MAX_PREVIEW, planImport, runImport, type Step } from './import-plan.ts'
import { texts } from './texts.ts'
import { type ReadFile, readTransferFile } from './transfer-file.ts'

interface Report {
  readonly total: number
  readonly done: readonly Step[]
}

interface ImportUsersProps {
  readonly onClose: () => void
  readonly onChange: () => void
}

export function ImportUsers({ onClose, onChange }: ImportUsersProps) {
  const [file, setFile] = useState<ChosenFile>()
  const [replaces, setReplaces] = useState(false)
  const [report, setReport] = useState<Report>()
  const [compared, setCompared] = useState(0)
  const isStopped = useRef(false)
  const read = file?.read
  const preview = useResource(
    JSON.stringify([file?.chosenAt, replaces]),
    async (signal) => read && planImport(read, { replaces, signal, onProgress: setCompared }),
  )
  const plan = preview.data ?? []
  const stop = () => {
    isStopped.current = true
    onClose()
    onChange()
  }
  const run = async () => {
    if (!read) return
    const total = read.users.length + read.plain.length
    let done: readonly Step[] = []
    setReport({ total, done })
    for await (const steps of runImport(read, plan, replaces)) {
      done = [...done, ...steps]
      setReport({ total, done })
      if (isStopped.current) break
    }
    onChange()
  }
  if (report) return <ImportReport report={report} onClose={stop} />
  const count = countImported(read, plan)
  return (
    <FormDialog
      title={texts.transfer.importTitle}
      kind="large"
      action={texts.transfer.importAction(count)}
      isReady={count > 0 && !preview.isLoading}
      onClose={onClose}
      onSubmit={run}
    >
      <p class="quiet">{texts.transfer.importText}</p>
      <FileField read={read} onFile={setFile} />
      <CheckField
        label={read && read.plain.length > 0 ? texts.transfer.change.existing : texts.transfer.replace}
        isChecked={replaces}
        onChange={setReplaces}
      />
      {read && preview.isLoading && (
        <Progress label={texts.transfer.comparing} done={compared} total={read.users.length + read.plain.length} />
      )}
      {read && read.problems.length > 0 && <FileProblems problems={read.problems} />}
      {read && read.problems.length === 0 && !preview.isLoading && (
        <Loaded resource={preview} what={texts.transfer.preview}>
          {(steps) => <Preview steps={steps ?? []} isPart={read.users.length > MAX_PREVIEW} />}
        </Loaded>
      )}
    </FormDialog>
  )
}

interface ChosenFile {
  /** Tells one choice from the next. */
  readonly chosenAt: number
  readonly read: ReadFile
}

interface FileFieldProps {
  readonly read: ReadFile | undefined
  readonly onFile: (file: ChosenFile | undefined) => void
}

const FileField = ({ read, onFile }: FileFieldProps) => (
  <Field
    label={texts.transfer.file}
    hint={
      read && read.problems.length === 0 && texts.transfer.found(read.users.length + read.plain.length, read.others)
    }
  >
    {(control) => (
      <input
        {...control}
        type="file"
        accept=".csv,.jsonl,.ndjson,.json,.txt"
        onChange={async (event) => {
          const chosen = event.currentTarget.files?.[0]
          onFile(chosen && { chosenAt: performance.now(), read: readTransferFile(await chosen.text()) })
        }}
      />
    )}
  </Field>
)

/** All of them, so that the file is corrected once. */
const FileProblems = ({ problems }: { readonly problems: readonly string[] }) => (
  <div class="notice danger" role="alert">
    <p>{texts.transfer.problemCount(problems.length)}</p>
    <ul class="problems">
      {problems.slice(0, MAX_LISTED).map((problem) => (
        <li key={problem}>{problem}</li>
      ))}
    </ul>
    {problems.length > MAX_LISTED && <p>{texts.batch.andMore(problems.length - MAX_LISTED)}</p>}
  </div>
)

/** An export is imported as a whole, of a plain list only what changes something. */
const countImported = (file: ReadFile | undefined, plan: readonly Step[]): number =>
  file && file.plain.length > 0
    ? plan.filter(({ kind }) => kind !== 'kept' && kind !== 'refused').length
    : (file?.users.length ?? 0)

const TONES = {
  created: 'success',
  replaced: 'warning',
  changed: 'warning',
  kept: undefined,
  refused: 'danger',
} as const

const MAX_LISTED = 20

/** What changes comes first. */
const ORDER: readonly Kind[] = ['refused', 'replaced', 'changed', 'created', 'kept']

function Preview({ steps, isPart }: { readonly steps: readonly Step[]; readonly isPart: boolean }) {
  const rows = steps.toSorted((one, other) => ORDER.indexOf(one.kind) - ORDER.indexOf(other.kind)).slice(0, MAX_LISTED)
  const left = steps.length - rows.length
  return (
    <section aria-label={texts.transfer.preview}>
      <p class="quiet">
        {isPart ? texts.transfer.previewPart(MAX_PREVIEW) : texts.transfer.preview}: {describeCounts(steps)}
      </p>
      <Table
        caption={texts.transfer.preview}
        rows={rows}
        keyOf={({ name }) => name}
        columns={[
          { label: shared.users.name, render: ({ name }) => <span class="mono">{name}</span> },
          {
            label: texts.transfer.effect,
            render: ({ kind }) => <Badge tone={TONES[kind]}>{texts.transfer.kinds[kind]}</Badge>,
          },
          { label: texts.transfer.changes, render: ({ notes }) => notes.join('; ') },
        ]}
      />
      {left > 0 && <p class="quiet">{texts.batch.andMore(left)}</p>}
    </section>
  )
}

const count = (steps: readonly Step[], wanted: Kind): number => steps.filter(({ kind }) => kind === wanted).length

const describeCounts = (steps: readonly Step[]): string =>
  ORDER.filter((kind) => count(steps, kind) > 0)
    .map((kind) => `${count(steps, kind)} ${texts.transfer.kinds[kind]}`)
    .join(', ')

function ImportReport({ report, onClose }: { readonly report: Report; readonly onClose: () => void }) {
  const { total, done } = report
  const isDone = done.length >= total
  const refused = done.filter(({ kind }) => kind === 'refused')
  return (
    <Dialog title={isDone ? texts.transfer.imported : texts.transfer.importing} onClose={onClose}>
      <Progress label={texts.transfer.importing} done={done.length} total={total} />
      <Facts
        facts={ORDER.filter((kind) => count(done, kind) > 0).map((kind) => [
          texts.transfer.kinds[kind],
          count(done, kind),
        ])}
      />
      {refused.length > 0 && (
        <ul class="problems">
          {refused.slice(0, MAX_LISTED).map(({ name, notes }) => (
            <li key={name}>
              <span class="mono">{name}</span> {notes.join(' ')}
            </li>
          ))}
        </ul>
      )}
      <div class="row end">
        <Button kind={isDone ? 'primary' : 'danger'} onClick={onClose}>
          {isDone ? shared.actions.done : texts.transfer.stop}
        </Button>
      </div>
    </Dialog>
  )
}
