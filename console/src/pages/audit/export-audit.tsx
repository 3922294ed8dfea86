import { useState } from 'preact/hooks'
import { type AuditListView, type AuditRecordView, api } from '../../api/client.ts'
import { Button } from '../../ui/parts.tsx'
import { saveFile } from '../../ui/save-file.ts'
import { notifyProblem } from '../../ui/toast.tsx'
import { type AuditFilter, toQuery } from './filter.ts'
import { texts } from './texts.ts'

const MAX_AT_ONCE = 1000

/** Saves all records that match as JSON lines. */
export function ExportAudit({ filter }: { readonly filter: AuditFilter }) {
  const [count, setCount] = useState<number>()
  const save = async () => {
    setCount(0)
    try {
      const records = await loadAll(filter, setCount)
      saveFile('cardea-audit.jsonl', records.map((record) => `${JSON.stringify(record)}\n`).join(''))
    } catch (error) {
      notifyProblem(error)
    } finally {
      setCount(undefined)
    }
  }
  return (
    <Button onClick={save} isBusy={count !== undefined}>
      {count === undefined ? texts.export : texts.exporting(count)}
    </Button>
  )
}

async function loadAll(filter: AuditFilter, onCount: (count: number) => void): Promise<readonly AuditRecordView[]> {
  const all: AuditRecordView[] = []
  const query = toQuery(filter)
  for (let after: string | undefined = ''; after !== undefined; ) {
    const page: AuditListView = await api.get<AuditListView>('/audit', { ...query, after, limit: MAX_AT_ONCE })
    all.push(...page.records)
    onCount(all.length)
    after = page.next
  }
  return all
}
