import { Command } from 'commander'
import type { AuditListOptions } from './audit-list.ts'
import type { AuditVerifyOptions } from './audit-verify.ts'
import type { Context } from './context.ts'
import { collect, readLimit, withManageOptions } from './manage.ts'

/** `cardea audit`: who did what, and whether the records are as they were written. */
export const auditCommand = (context: Context): Command =>
  new Command('audit')
    .description('list the audit trail, and verify that it was not changed')
    .addCommand(listCommand(context))
    .addCommand(verifyCommand(context))

function listCommand(context: Context): Command {
  const command = new Command('list')
    .description('list records, the newest last')
    .option('--user <name>', 'records in which this name is the actor or the subject')
    .option('--event <kind>', 'one kind of event, such as sign-in.refused')
    .option('--outcome <outcome>', 'success or failure')
    .option('--since <time>', 'not before this time: 30m, 2h or 7d ago, or a time such as 2026-01-31T12:00:00Z')
    .option('--until <time>', 'before this time')
    .option('--limit <count>', 'at most this many of the newest records', readLimit, 100)
    .option('--follow', 'print further records as they are written, until interrupted')
  return withManageOptions(command).action(async (options: AuditListOptions) => {
    const { listAudit } = await import('./audit-list.ts')
    await listAudit(context, options)
  })
}

function verifyCommand(context: Context): Command {
  const command = new Command('verify')
    .description('find altered, missing and reordered records, and a truncated end; a server may be running')
    .option('--key <file>', 'trust this key, public or private, instead of audit.key-file; may be repeated', collect)
    .option('--json', 'print JSON')
  return command.action(async (options: AuditVerifyOptions) => {
    const { verifyAudit } = await import('./audit-verify.ts')
    await verifyAudit(context, options)
  })
}
