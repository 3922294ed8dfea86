/**
 * What only Cardea knows is not in the document. It is in the store before CouchDB has the document, so that a user who must
 * not sign in, or must change the password, is not one without limits if the process ends before the store has all of it.
 * An intent is there only until the user is written again.
 */
import { createHash } from 'node:crypto'
import { isJsonObject, type Members } from '../../base/json.ts'
import type { Stored } from '../../directory/store-port/users.ts'
import { createEmptyUser } from '../../directory/users/revisions.ts'
import type { User, UserRecord } from '../../directory/users/user.ts'
import { NO_PASSWORD, toDocumentMembers } from '../../passwords/schemes.ts'
import { type Engine, manyKeys, numberOf, one, type StoreSteps, textOf } from '../../store/engine.ts'
import { lockCounters } from '../../store/operations/changes.ts'
import type { UserTurn } from '../../store/operations/users.ts'
import { readUser, renderRecord } from '../../store/record.ts'
import { STATEMENTS as CORE, toStatements } from '../../store/statements.ts'
import { hasOwnChange, mergeOwn } from './merge.ts'
import type { Reading } from './reading.ts'

const STATEMENTS = toStatements(
  {
    putIntent: `INSERT INTO cardea_mirror_intents (name, digest, data, noted_ms) VALUES ($1, $2, $3, $4)
      ON CONFLICT (name, digest) DO UPDATE SET data = excluded.data, noted_ms = excluded.noted_ms`,
    findIntent: 'SELECT data FROM cardea_mirror_intents WHERE name = $1 AND digest = $2',
    findAnyIntent: 'SELECT name FROM cardea_mirror_intents LIMIT 1',
    removeIntent: 'DELETE FROM cardea_mirror_intents WHERE name = $1 AND digest = $2',
    removeIntents: 'DELETE FROM cardea_mirror_intents WHERE name = $1',
    removePassed: 'DELETE FROM cardea_mirror_intents WHERE noted_ms < (SELECT max(fresh_ms) FROM cardea_mirror) - $1',
  },
  'couchdb-users.',
)

/** A copy that has all changes of so much later never gets the document: it was not written. */
const KEPT_MS = 24 * 60 * 60 * 1000

interface Intended {
  readonly before: Stored | undefined
  readonly after: UserRecord
  /** The document that is going to be written. */
  readonly body: Members
  readonly nowMs: number
}

/**
 * Notes what the document does not have, if there is something. Returns whether the user is still the one with the sequence
 * of `before`. If not, nothing is noted: what was written meanwhile would not remove it.
 */
export async function noteIntent(engine: Engine, { before, after, body, nowMs }: Intended): Promise<boolean> {
  if (after.kind !== 'user') return true
  const known = before?.record.kind === 'user' ? before.record : createEmptyUser(after.name, NO_PASSWORD)
  if (!hasOwnChange(known, after)) return true
  return engine.transact(function* () {
    yield* lockCounters()
    const [row] = yield one(CORE.findVersion, after.name)
    if ((row && numberOf(row, 'sequence')) !== before?.sequence) return false
    yield one(STATEMENTS.putIntent, after.name, toDigest(body), renderRecord(after), nowMs)
    return true
  })
}

/** The document was certainly not written. */
export const removeIntent = async (engine: Engine, name: string, body: Members): Promise<void> =>
  void (await engine.ask(one(STATEMENTS.removeIntent, name, toDigest(body))))

/** With every change of users. What was intended before it must not take effect after it. */
export function* removeIntents(changes: readonly UserTurn[]): StoreSteps<void> {
  const [any] = yield one(STATEMENTS.findAnyIntent)
  if (!any) return
  yield manyKeys(STATEMENTS.removeIntents, new Set(changes.map(({ name }) => name)))
  yield one(STATEMENTS.removePassed, KEPT_MS)
}

export const hasIntents = async (engine: Engine): Promise<boolean> =>
  (await engine.ask(one(STATEMENTS.findAnyIntent))).length > 0

/** The user as the document shows it, with what was intended with this very document. */
export async function withIntent(
  engine: Engine,
  stored: UserRecord | undefined,
  reading: Reading,
  shown: User,
): Promise<User> {
  if (reading.kind !== 'user') return shown
  const { roles, members, password } = reading
  const document = { name: shown.name, type: 'user', roles, ...toDocumentMembers(password) }
  const digest = toDigest({ ...document, ...Object.fromEntries(members) })
  const [row] = await engine.ask(one(STATEMENTS.findIntent, shown.name, digest))
  return row ? mergeOwn(stored, readUser(shown.name, textOf(row, 'data')), shown) : shown
}

/** Without revision and attachments. In whatever order CouchDB returns the members. */
function toDigest(document: Members): string {
  const members = Object.entries(document).filter(([name]) => !name.startsWith('_'))
  const text = JSON.stringify(Object.fromEntries(members), (_name, value) =>
    isJsonObject(value) ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))) : value,
  )
  return createHash('sha256').update(text).digest('hex')
}
