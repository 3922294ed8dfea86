/** A restore that ends what may have been revoked since the backup: every credential but passwords and second factors. */
import { EVERY_ADMINISTRATOR, SESSIONS_OF_ADMINISTRATORS } from '../../directory/administrators.ts'
import { endSessions } from '../../directory/session-epoch.ts'
import type { UserRecord } from '../../directory/users/user.ts'
import { type Row, textOf } from '../engine.ts'
import { createMark } from '../operations/changes.ts'
import { readRecordRow, renderRecord } from '../record.ts'
import type { Cells, Table } from './format.ts'
import { type RestoreTarget, toRow } from './snapshot.ts'

/** Sessions with their renewal tokens, and secrets that users get once. */
const EMPTIED: ReadonlySet<string> = new Set([
  'cardea_sessions',
  'cardea_password_links',
  'cardea_links',
  'cardea_recovery_codes',
  'cardea_token_uses',
])

/** The rows of a backup as they are restored. */
export function endSessionsIn(table: Table, rows: readonly Cells[], nowSeconds: number): readonly Cells[] {
  if (EMPTIED.has(table.name)) return []
  // nothing is left that a wrong time of the store could bring back: it begins with the clock
  if (table.name === 'cardea_time')
    return rows.map((cells) => cells.map((cell, at) => (table.columns[at] === 'id' ? cell : 0)))
  if (table.name === 'cardea_jobs') return rows.filter((cells) => !isMessage(toRow(table, cells)))
  if (table.name !== 'cardea_users') return rows
  const place = table.columns.indexOf('record')
  return rows.map((cells) => {
    const ended = withoutCredentials(readRecordRow(toRow(table, cells)), nowSeconds)
    return cells.with(place, renderRecord(ended))
  })
}

/** Messages are left out: a restored one would be sent again, with a new link that works. */
const isMessage = (row: Row): boolean => textOf(row, 'kind').startsWith('mail.')

/** Revokes sessions and issued tokens, and removes access tokens. A deleted user may have been created again. */
function withoutCredentials(record: UserRecord, nowSeconds: number): UserRecord {
  const sessionEpoch = endSessions(record.sessionEpoch, nowSeconds)
  if (record.kind === 'tombstone') return { ...record, sessionEpoch }
  return { ...record, sessionEpoch, multiModel: { ...record.multiModel, tokens: [] } }
}

/** Those in configuration files too, and tokens of other issuers for names that the store does not have. */
export async function endSessionsOfAdministrators(target: RestoreTarget, nowSeconds: number): Promise<void> {
  const values = [SESSIONS_OF_ADMINISTRATORS, EVERY_ADMINISTRATOR, ''].map((text) => `'${text}'`).join(', ')
  await target.ask(`INSERT INTO cardea_settings (section, key, value, changed_at, sequence, mark)
    SELECT ${values}, ${nowSeconds}, sequence + 1, '${createMark()}' FROM cardea_state WHERE id = 1
    ON CONFLICT (section, key) DO UPDATE
    SET changed_at = excluded.changed_at, sequence = excluded.sequence, mark = excluded.mark`)
  await target.ask(`UPDATE cardea_state SET sequence = sequence + 1,
    searched = CASE WHEN searched = sequence THEN sequence + 1 ELSE searched END`)
}
