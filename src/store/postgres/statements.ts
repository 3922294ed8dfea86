import { STATEMENTS, type StatementName } from '../statements.ts'

export const CHANNEL = 'cardea_changes'

/** Where PostgreSQL needs other words. The lock on the state is held until the transaction ends. */
const OWN: ReadonlyMap<string, string> = new Map<StatementName, string>([
  ['lockState', `${STATEMENTS.lockState.text} FOR UPDATE`],
  ['lockFailures', `${STATEMENTS.lockFailures.text} FOR UPDATE`],
  ['moveState', `${STATEMENTS.moveState.text} RETURNING pg_notify('${CHANNEL}', '')`],
])

/** Statements for many rows at once: every parameter is an array, one element a row. */
const BULK: ReadonlyMap<string, string> = new Map<StatementName, string>([
  ['findVersion', 'SELECT name, sequence, is_live FROM cardea_users WHERE name = ANY ($1::text[])'],
  [
    'putUser',
    STATEMENTS.putUser.text.replace(
      'VALUES ($1, $2, $3, $4, $5, $6)',
      'SELECT * FROM unnest($1::text[], $2::bigint[], $3::smallint[], $4::text[], $5::text[], $6::bigint[])',
    ),
  ],
])

export const toPostgres = (name: string, text: string): string => OWN.get(name) ?? text

export function findBulk(name: string): string {
  const text = BULK.get(name)
  if (text === undefined) throw new TypeError(`There is no statement for many rows of ${name}`)
  return text
}
