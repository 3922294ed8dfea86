import { useRef, useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { FormDialog } from '../../ui/dialog.tsx'
import { saveFile } from '../../ui/save-file.ts'
import { Progress } from '../../ui/states.tsx'
import { notify } from '../../ui/toast.tsx'
import { texts } from './texts.ts'
import { renderTransferFile } from './transfer-file.ts'

interface ExportPage {
  readonly users: readonly { readonly text: string }[]
  readonly next?: string
}

const PAGE = 1000

/** Downloads all users as one file. */
export function ExportUsers({ onClose }: { readonly onClose: () => void }) {
  const [progress, setProgress] = useState<{ readonly done: number; readonly total: number }>()
  const isStopped = useRef(false)
  const close = () => {
    isStopped.current = true
    onClose()
  }
  const run = async () => {
    const { users: total } = await api.get<{ readonly users: number }>('/transfer/count')
    const lines: string[] = []
    let after: string | undefined
    do {
      setProgress({ done: lines.length, total })
      const page: ExportPage = await api.get('/transfer/users', { format: 'cardea', after, limit: PAGE })
      lines.push(...page.users.map(({ text }) => text))
      after = page.next
    } while (after !== undefined && !isStopped.current)
    if (isStopped.current) return
    saveFile('cardea-users.jsonl', renderTransferFile(lines))
    notify(texts.transfer.exported(lines.length))
    onClose()
  }
  return (
    <FormDialog title={texts.transfer.exportTitle} action={texts.transfer.exportAction} onClose={close} onSubmit={run}>
      <p>{texts.transfer.exportText}</p>
      {progress && <Progress label={texts.transfer.exporting} {...progress} />}
    </FormDialog>
  )
}
