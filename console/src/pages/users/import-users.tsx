import { useRef, useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { texts } from '../../texts.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog, FormDialog } from '../../ui/dialog.tsx'
import { CheckField, Field } from '../../ui/field.tsx'
import { Facts } from '../../ui/parts.tsx'
import { withPassword } from '../../ui/password-proof.tsx'
import { type ReadFile, readTransferFile } from './transfer-file.ts'

type Outcome = { readonly kind: 'created' | 'replaced' | 'kept' | 'refused'; readonly reason?: string }

interface Report {
  readonly total: number
  readonly done: number
  readonly counts: Readonly<Record<Outcome['kind'], number>>
  readonly refused: readonly { readonly name: string; readonly reason: string }[]
}

const EMPTY: Report['counts'] = { created: 0, replaced: 0, kept: 0, refused: 0 }
const BATCH = 500

interface ImportUsersProps {
  readonly onClose: () => void
  readonly onChange: () => void
}

export function ImportUsers({ onClose, onChange }: ImportUsersProps) {
  const [file, setFile] = useState<ReadFile>()
  const [replaces, setReplaces] = useState(false)
  const [report, setReport] = useState<Report>()
  const isStopped = useRef(false)
  const stop = () => {
    isStopped.current = true
    onClose()
    onChange()
  }
  const run = async () => {
    if (file) await importAll(file.users, { replaces, onReport: setReport, isStopped: () => isStopped.current })
    onChange()
  }
  if (report) return <ImportReport report={report} onClose={stop} />
  return (
    <FormDialog
      title={texts.transfer.importTitle}
      action={texts.transfer.importAction(file?.users.length ?? 0)}
      isReady={file !== undefined && file.users.length > 0}
      onClose={onClose}
      onSubmit={run}
    >
      <p class="quiet">{texts.transfer.importText}</p>
      <Field
        label={texts.transfer.file}
        hint={file && texts.transfer.found(file.users.length, file.others)}
        problem={file?.problem && texts.transfer.problems[file.problem]}
      >
        {(control) => (
          <input
            {...control}
            type="file"
            accept=".jsonl,.ndjson,.json,.txt"
            onChange={async (event) => {
              const chosen = event.currentTarget.files?.[0]
              setFile(chosen && readTransferFile(await chosen.text()))
            }}
          />
        )}
      </Field>
      <CheckField label={texts.transfer.replace} isChecked={replaces} onChange={setReplaces} />
    </FormDialog>
  )
}

interface ImportOptions {
  readonly replaces: boolean
  readonly onReport: (report: Report) => void
  readonly isStopped: () => boolean
}

const nameOf = (user: unknown): string => String((user as { readonly name?: unknown } | null)?.name ?? '')

/** Sends batches one after another and reports after each. */
async function importAll(users: readonly unknown[], { replaces, onReport, isStopped }: ImportOptions): Promise<void> {
  let report: Report = { total: users.length, done: 0, counts: EMPTY, refused: [] }
  onReport(report)
  for (let at = 0; at < users.length && !isStopped(); at += BATCH) {
    const batch = users.slice(at, at + BATCH)
    const body = { users: batch, replace: replaces }
    const { outcomes } = await withPassword((proof) =>
      api.post<{ readonly outcomes: readonly Outcome[] }>('/transfer/users', { ...body, ...proof }),
    )
    report = addOutcomes(report, batch, outcomes)
    onReport(report)
  }
}

function addOutcomes(report: Report, batch: readonly unknown[], outcomes: readonly Outcome[]): Report {
  const counts = { ...report.counts }
  for (const { kind } of outcomes) counts[kind] += 1
  const refused = outcomes.flatMap(({ kind, reason = '' }, at) =>
    kind === 'refused' ? [{ name: nameOf(batch[at]), reason }] : [],
  )
  return { ...report, done: report.done + batch.length, counts, refused: [...report.refused, ...refused] }
}

const MAX_LISTED = 20

function ImportReport({ report, onClose }: { readonly report: Report; readonly onClose: () => void }) {
  const { total, done, counts, refused } = report
  const isDone = done >= total
  return (
    <Dialog title={isDone ? texts.transfer.imported : texts.transfer.importing} onClose={onClose}>
      <progress class="progress" max={total} value={done} aria-label={texts.transfer.importing} />
      <p role="status">{texts.transfer.progress(done, total)}</p>
      <Facts
        facts={Object.entries(counts).map(([kind, count]) => [texts.transfer.kinds[kind as Outcome['kind']], count])}
      />
      {refused.length > 0 && (
        <ul class="problems">
          {refused.slice(0, MAX_LISTED).map(({ name, reason }) => (
            <li key={name}>
              <span class="mono">{name}</span> {reason}
            </li>
          ))}
        </ul>
      )}
      <div class="row end">
        <Button kind={isDone ? 'primary' : 'danger'} onClick={onClose}>
          {isDone ? texts.actions.done : texts.transfer.stop}
        </Button>
      </div>
    </Dialog>
  )
}
