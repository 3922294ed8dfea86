import type { Finding } from '../observe/audit/findings.ts'
import { type AuditVerifyOptions, readTrail } from './audit-verify.ts'
import { withBackupErrors } from './backup-report.ts'
import { type Context, ExitError } from './context.ts'
import { EXIT } from './exit-codes.ts'
import { manage, report } from './manage.ts'
import { toPrintable } from './table.ts'

export interface AuditAcknowledgeOptions extends AuditVerifyOptions {
  readonly reason: string
}

/** Through a running server, if there is one: it is the owner of the chain. */
export async function acknowledgeFindings(
  context: Context,
  ids: readonly string[],
  options: AuditAcknowledgeOptions,
): Promise<void> {
  const { verified } = await withBackupErrors(options.json ?? false, () => readTrail(context, options))
  for (const id of ids) requireFinding(verified.findings, id)
  const body = { findings: ids, reason: options.reason }
  const done = await manage(context, options, (control) => control.call('audit.acknowledge', { body }))
  report(context, options, done, () => `Acknowledged ${ids.length === 1 ? 'a finding' : `${ids.length} findings`}.`)
}

function requireFinding(findings: readonly Finding[], id: string): void {
  const finding = findings.find((each) => each.id === id)
  if (!finding) throw new ExitError(EXIT.notFound, `audit verify reports no finding ${toPrintable(id)}.`)
  if (finding.acknowledged) throw new ExitError(EXIT.conflict, `The finding ${id} is acknowledged already.`)
}
