import { useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import type { RecordedCommand, Verification as Verified } from '../../api/types.ts'
import { texts } from '../../texts.ts'
import { ActionButton } from '../../ui/action-button.tsx'
import { ReportDialog } from '../../ui/dialog.tsx'
import { Badge } from '../../ui/parts.tsx'
import { Time } from '../../ui/time.tsx'
import { notify } from '../../ui/toast.tsx'

interface VerificationProps {
  readonly last: RecordedCommand | null
  readonly onChange: () => void
}

/** When the audit trail was last verified, and a button that does it now. */
export function Verification({ last, onChange }: VerificationProps) {
  const [findings, setFindings] = useState<Verified['findings']>([])
  const verify = async () => {
    const verified = await api.post<Verified>('/audit/verification')
    setFindings(verified.findings)
    if (verified.findings.length === 0) notify(texts.overview.verified(verified.records))
    onChange()
  }
  return (
    <>
      {last ? <Time at={last.at} /> : texts.time.never}{' '}
      {last?.findings ? <Badge tone="danger">{texts.overview.changes(last.findings)}</Badge> : null}{' '}
      <ActionButton kind="quiet" run={verify}>
        {texts.overview.verify}
      </ActionButton>
      {findings.length > 0 && (
        <ReportDialog
          title={texts.overview.changedTrail(findings.length).title}
          rows={findings.map(({ node, message }) => [node, message])}
          onClose={() => setFindings([])}
        />
      )}
    </>
  )
}
