import { dirname, join, resolve } from 'node:path'
import { createFile, createFolders } from '../base/files.ts'
import { loadConfiguration } from '../live-config/load.ts'
import { makeAuditKey } from '../observe/audit/audit-key.ts'
import type { Context } from './context.ts'
import { AUDIT_KEY } from './folder.ts'

/**
 * Makes the key that signs the checkpoints of the audit trail, for a folder that a version without it has made. An
 * existing key is kept.
 */
export function prepareAuditKey({ flags, env, cwd }: Context, folder: string): void {
  const configs = [folder, ...flags.configs]
  const { values } = loadConfiguration({ flags: { ...flags, configs }, env, cwd }).settings
  const named = values.audit['key-file']
  const path = named === '' ? join(resolve(cwd, folder), AUDIT_KEY) : named
  createFolders(dirname(path))
  createFile(path, makeAuditKey())
  if (named === '')
    createFile(join(folder, 'audit.ini'), `; Written by cardea start.\n[audit]\nkey-file = ${AUDIT_KEY}\n`)
}
