import { resolve } from 'node:path'
import { toPrintable } from '../base/printable.ts'
import { countVerified, verifyStored } from '../kernel/audit.ts'
import { loadAuditKey, loadKeyFile } from '../kernel/audit-keys.ts'
import { readVerifyingKey } from '../observe/audit/audit-key.ts'
import type { VerifiedChain, VerifiedTrail } from '../observe/audit/verify.ts'
import { withBackupErrors } from './backup-report.ts'
import { recordAtServer } from './client.ts'
import { type Context, commandError } from './context.ts'
import { loadSettingsOf } from './own-settings.ts'

export interface AuditVerifyOptions {
  readonly key?: readonly string[]
  readonly json?: boolean
}

export function verifyAudit(context: Context, options: AuditVerifyOptions): Promise<void> {
  const { json = false } = options
  return withBackupErrors(json, async () => {
    const { verified, hasKeys } = await readTrail(context, options)
    context.print(json ? JSON.stringify(verified, undefined, 2) : renderTrail(verified, hasKeys))
    await recordAtServer(context, { event: 'audit.verified', ...countVerified(verified) })
    if (verified.findings.length === 0) return
    throw commandError(json ? '' : 'The audit trail was changed.')
  })
}

/** Reads the store itself, so that a server that was tampered with cannot hide anything. */
async function readTrail(context: Context, { key: files = [] }: AuditVerifyOptions) {
  const { store, audit, node } = loadSettingsOf(context).values
  const keyFile = audit['key-file']
  const own = files.length === 0 ? loadAuditKey(keyFile) : undefined
  const keys = own ? [own] : files.map((file) => loadKeyFile('--key', resolve(context.cwd, file), readVerifyingKey))
  const verified = await verifyStored(store.url, { keyFile, node: node.name }, { keys })
  return { verified, hasKeys: keys.length > 0 }
}

function renderTrail({ chains, findings }: VerifiedTrail, hasKeys: boolean): string {
  if (chains.length === 0 && findings.length === 0) return 'There are no audit records.'
  const lines = findings.map(
    (finding) => `${toPrintable(finding.node)}: ${finding.kind}: ${toPrintable(finding.message)}`,
  )
  const advice = hasKeys
    ? []
    : ['Without audit.key-file there are no checkpoints: whether the newest records were removed cannot be found out.']
  return [...chains.map(renderChain), ...lines, ...advice].join('\n')
}

function renderChain({ node, records, first, last, signedTo, hasFile, findings }: VerifiedChain): string {
  const range = records === 0 ? 'no records' : `records ${first} to ${last}`
  const signature = `signed up to ${signedTo}${hasFile ? '' : ' (its checkpoint file is not here: verify it on that node)'}`
  const signed = signedTo === undefined ? 'no checkpoint' : signature
  return `${toPrintable(node)}: ${range}, ${signed}, ${findings.length === 0 ? 'unchanged' : 'changed'}`
}
