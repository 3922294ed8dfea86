/**
 * What only Cardea knows is not in the document. It is in the store before CouchDB has the document, so that a user who must
 * not sign in, or must change the password, is not one without limits if the process ends before the store has all of it.
 */
import { isDeepStrictEqual } from 'node:util'
import { readJson } from '../../base/json.ts'
import { createEmptyUser, revisionOf } from '../../directory/users/revisions.ts'
import type { User, UserRecord } from '../../directory/users/user.ts'
import { NO_PASSWORD } from '../../passwords/schemes.ts'
import { type Engine, one, textOf } from '../../store/engine.ts'
import { readRecord, renderRecord } from '../../store/record.ts'
import { toStatements } from '../../store/statements.ts'
import { hasOwnChange, mergeOwn } from './merge.ts'

const STATEMENTS = toStatements(
  {
    putIntent: `INSERT INTO cardea_mirror_intents (name, data) VALUES ($1, $2)
      ON CONFLICT (name) DO UPDATE SET data = excluded.data`,
    findIntent: 'SELECT data FROM cardea_mirror_intents WHERE name = $1',
    findAnyIntent: 'SELECT name FROM cardea_mirror_intents LIMIT 1',
    removeIntent: 'DELETE FROM cardea_mirror_intents WHERE name = $1',
  },
  'couchdb-users.',
)

/** Returns whether there is something that the document does not have. */
export async function noteIntent(engine: Engine, before: UserRecord | undefined, after: UserRecord): Promise<boolean> {
  if (after.kind !== 'user') return false
  const known = before?.kind === 'user' ? before : createEmptyUser(after.name, NO_PASSWORD)
  if (!hasOwnChange(known, after)) return false
  const data = [before ? [before.kind, renderRecord(before)] : null, renderRecord(after)]
  await engine.ask(one(STATEMENTS.putIntent, after.name, JSON.stringify(data)))
  return true
}

export const removeIntent = async (engine: Engine, name: string): Promise<void> =>
  void (await engine.ask(one(STATEMENTS.removeIntent, name)))

export const hasIntents = async (engine: Engine): Promise<boolean> =>
  (await engine.ask(one(STATEMENTS.findAnyIntent))).length > 0

/**
 * The user as the document shows it, with what was intended with it. Its salt tells that it is the document of the intent;
 * the revision that the store has, that the rest was not stored.
 */
export async function withIntent(engine: Engine, stored: UserRecord | undefined, shown: User): Promise<User> {
  const [row] = await engine.ask(one(STATEMENTS.findIntent, shown.name))
  const intent = row && readIntent(shown.name, textOf(row, 'data'))
  if (!intent || revisionOf(intent.before) !== revisionOf(stored)) return shown
  return isDeepStrictEqual(intent.after.password, shown.password) ? mergeOwn(intent.before, intent.after, shown) : shown
}

function readIntent(name: string, data: string) {
  const reading = readJson(data)
  const [before, text] = reading.kind === 'json' && Array.isArray(reading.value) ? reading.value : []
  const after = readRecord(name, true, String(text))
  if (after.kind !== 'user') return undefined
  return { before: before ? readRecord(name, before[0] === 'user', String(before[1])) : undefined, after }
}
