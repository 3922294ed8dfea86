const NUMBERED = ['cardea_users', 'cardea_ended_sessions', 'cardea_settings', 'cardea_marks']

/**
 * What a standby that lacks the last writes looks like after a failover: no record written after this sequence is left.
 * A record that was changed after it is missing too, so tests change each record once.
 */
export async function loseWrites(execute: (sql: string) => Promise<unknown>, after: number): Promise<void> {
  for (const table of NUMBERED) await execute(`DELETE FROM ${table} WHERE sequence > ${after}`)
  await execute(`UPDATE cardea_state SET sequence = ${after}, searched = ${after},
    users = (SELECT count(*) FROM cardea_users WHERE is_live = 1)`)
}
