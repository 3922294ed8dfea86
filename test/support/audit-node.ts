/** A node that writes an audit trail into a SQLite file, with its key and checkpoints beside it. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { TestContext } from 'node:test'
import { SYSTEM_CLOCK } from '../../src/base/clock.ts'
import { SILENT_LOG } from '../../src/base/log.ts'
import { verifyStored } from '../../src/kernel/audit.ts'
import { type AuditSigningKey, makeAuditKey, readSigningKey } from '../../src/observe/audit/audit-key.ts'
import { AuditTrail } from '../../src/observe/audit/audit-trail.ts'
import { toCheckpointPath } from '../../src/observe/audit/checkpoint-files.ts'
import { Checkpoints } from '../../src/observe/audit/checkpoints.ts'
import type { SecurityRecord } from '../../src/observe/security-record.ts'
import { openStore } from '../../src/store/create-store.ts'
import { reportTo } from './audit-reports.ts'

export const AUDIT_KEY = readSigningKey(makeAuditKey())

/** The files of one node. */
export interface AuditPlace {
  readonly node: string
  readonly database: string
  readonly keyFile: string
  readonly checkpoint: string
}

export function makeAuditPlace(t: TestContext): AuditPlace {
  const folder = mkdtempSync(join(tmpdir(), 'cardea-audit-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return toPlace('n@host', join(folder, 'cardea.db'), join(folder, 'audit.pem'))
}

const toPlace = (node: string, database: string, keyFile: string): AuditPlace => ({
  node,
  database,
  keyFile,
  checkpoint: toCheckpointPath(keyFile, node),
})

/** Another node with the same store and the same folder. */
export const toOtherNode = ({ database, keyFile }: AuditPlace, node: string) => toPlace(node, database, keyFile)

/** The same node with its key elsewhere. */
export const withKeyFile = ({ node, database }: AuditPlace, keyFile: string) => toPlace(node, database, keyFile)

const toUrl = ({ database }: AuditPlace): string => `sqlite:${database}`

export interface AuditNode {
  readonly trail: AuditTrail
  /** The events about the trail. */
  readonly reported: readonly string[]
  write(...names: readonly string[]): Promise<void>
  erase(name: string, pseudonym: string, key: AuditSigningKey): Promise<void>
  stop(): Promise<void>
}

export async function runAuditNode(place: AuditPlace, key: AuditSigningKey = AUDIT_KEY): Promise<AuditNode> {
  const store = await openStore(toUrl(place), { log: SILENT_LOG })
  const reported: string[] = []
  const base = { node: () => place.node, store, clock: SYSTEM_CLOCK, events: reportTo(reported), log: SILENT_LOG }
  const checkpoints = new Checkpoints({ ...base, key, keyFile: place.keyFile })
  const trail = new AuditTrail({ ...base, checkpoints })
  const { delivery } = trail
  return {
    trail,
    reported,
    async write(...names) {
      for (const name of names) delivery.add(toRecord(place.node, name))
      await delivery.flush()
    },
    async erase(name, pseudonym, by) {
      await delivery.flush()
      const records = await store.eraseAudit({ name, pseudonym, key: by })
      delivery.add({
        ...toRecord(place.node, pseudonym),
        event: 'user.erased',
        fields: { subject: pseudonym, records },
      })
      await delivery.flush()
    },
    async stop() {
      await delivery.close()
      await checkpoints.file.close()
      await store.close()
    },
  }
}

const toRecord = (node: string, subject: string): SecurityRecord => ({
  time: SYSTEM_CLOCK.nowMs(),
  event: 'sign-out',
  outcome: 'success',
  node,
  fields: { subject, actor: subject, peer: '192.0.2.1', count: 3 },
})

export const changeAudit = ({ database }: AuditPlace, sql: string): void => {
  const opened = new DatabaseSync(database)
  opened.exec(sql)
  opened.close()
}

/** What `cardea audit verify` finds on this node. */
export async function verifyAudit(place: AuditPlace, keys: readonly AuditSigningKey[] = [AUDIT_KEY]) {
  const { findings } = await verifyStored(toUrl(place), place, { keys })
  return findings.map(({ kind, message }) => `${kind}: ${message}`)
}
