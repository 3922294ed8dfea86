/**
 * What the store knows of the databases of users. A wish is a job, stored with the user; its result is a row. Without
 * both, the user is from before the option, or from a version that did not know it.
 */
import type { NewJob } from '../../directory/store-port/jobs.ts'
import { type Engine, manyKeys, numberOf, one, type Row, type StoreSteps, textOf } from '../../store/engine.ts'
import { lockCounters } from '../../store/operations/changes.ts'
import { putJobs } from '../../store/operations/jobs.ts'
import type { UserTurn } from '../../store/operations/users.ts'
import { toStatements } from '../../store/statements.ts'
import { type DatabaseDoor, listDoors, toDatabaseName, type UserDatabaseSettings } from './settings.ts'

export const JOB_KIND = 'user-database'

/** `refused`: the database is not the user's, and needs a decision of an administrator. */
export interface DatabaseRecord {
  readonly name: string
  readonly door: DatabaseDoor
  readonly database: string
  readonly state: 'ready' | 'refused'
  /** Why it is refused. */
  readonly reason: string
}

export type Wish = { readonly action: 'create' } | { readonly action: 'keep' | 'remove'; readonly database: string }

const STATEMENTS = toStatements(
  {
    putRecord: `INSERT INTO cardea_user_databases (name, door, database, state, reason) VALUES ($1, $2, $3, $4, $5)
      ON CONFLICT (name, door) DO UPDATE
      SET database = excluded.database, state = excluded.state, reason = excluded.reason`,
    listRecords: 'SELECT name, door, database, state, reason FROM cardea_user_databases WHERE name = $1 ORDER BY door',
    listRefused: `SELECT name, door, database, state, reason FROM cardea_user_databases WHERE state = 'refused'
      ORDER BY name, door LIMIT 1000`,
    removeRecords: 'DELETE FROM cardea_user_databases WHERE name = $1 RETURNING name, door, database, state, reason',
    findUser: 'SELECT name FROM cardea_users WHERE name = $1 AND is_live = 1',
    countJobs: `SELECT count(*) AS waiting, coalesce(max(problem), '') AS problem FROM cardea_jobs
      WHERE kind = '${JOB_KIND}'`,
    findJob: `SELECT key, payload FROM cardea_jobs WHERE kind = '${JOB_KIND}' AND key = $1`,
  },
  'user-databases.',
)

/** The jobs of a user at one door run in order. */
export const toKey = (door: DatabaseDoor, name: string): string => `${door}/${name}`

export function readKey(key: string): Owner {
  const end = key.indexOf('/')
  return { door: key.startsWith('document/') ? 'document' : 'multi-model', name: key.slice(end + 1) }
}

// only `toWishJob` writes these
export const readWish = (payload: string): Wish => JSON.parse(payload) as Wish

export const toWishJob = (door: DatabaseDoor, name: string, wish: Wish): NewJob => ({
  kind: JOB_KIND,
  key: toKey(door, name),
  payload: JSON.stringify(wish),
})

/** Every way in which a user comes to be, or is deleted, ends in the transaction that this is part of. */
export function* followUsers(changes: readonly UserTurn[], settings: () => UserDatabaseSettings): StoreSteps<void> {
  const deleted = changes.filter(({ kind }) => kind === 'deleted').map(({ name }) => name)
  const rows = deleted.length === 0 ? [] : yield manyKeys(STATEMENTS.removeRecords, deleted)
  const known = rows.map(readRecord)
  yield* putJobs(changes.flatMap((change) => listJobs(change, known, settings())))
}

/** A database that Cardea has made is followed even where the option is off now: the next user must not get it. */
function listJobs(
  { name, kind, isUncertain }: UserTurn,
  known: readonly DatabaseRecord[],
  settings: UserDatabaseSettings,
) {
  const doors = listDoors(settings)
  if (kind === 'created') return doors.map((door) => toWishJob(door, name, { action: 'create' }))
  if (kind !== 'deleted') return []
  const action = isUncertain ? 'keep' : settings['user-databases']['on-delete']
  const own = known.filter((record) => record.name === name)
  const others = doors.filter((door) => !own.some((record) => record.door === door))
  return [
    // an administrator may have given the user a refused one, which is not removed: it is not known whose it was
    ...own.map(({ door, database, state }) =>
      toWishJob(door, name, { action: state === 'ready' ? action : 'keep', database }),
    ),
    ...others.map((door) => toWishJob(door, name, { action, database: toDatabaseName(settings, name) })),
  ]
}

export interface Owner {
  readonly door: DatabaseDoor
  readonly name: string
}

/** Wishes databases for those users that still exist and have no wish yet. Returns how many. */
export async function addWishes(statements: Engine, owners: readonly Owner[]): Promise<number> {
  if (owners.length === 0) return 0
  return statements.transact(function* (): StoreSteps<number> {
    yield* lockCounters()
    const users = yield manyKeys(STATEMENTS.findUser, new Set(owners.map(({ name }) => name)))
    const jobs = yield manyKeys(
      STATEMENTS.findJob,
      owners.map(({ door, name }) => toKey(door, name)),
    )
    const names = new Set(users.map((row) => textOf(row, 'name')))
    const waiting = new Set(jobs.map((row) => textOf(row, 'key')))
    const wished = owners.filter(({ door, name }) => names.has(name) && !waiting.has(toKey(door, name)))
    yield* putJobs(wished.map(({ door, name }) => toWishJob(door, name, { action: 'create' })))
    return wished.length
  })
}

/** Stores the result of a wish, unless the user was deleted meanwhile. */
export const putRecord = (statements: Engine, record: DatabaseRecord): Promise<void> =>
  statements.transact(function* (): StoreSteps<void> {
    yield* lockCounters()
    const [user] = yield one(STATEMENTS.findUser, record.name)
    const { name, door, database, state, reason } = record
    if (user) yield one(STATEMENTS.putRecord, name, door, database, state, reason)
  })

export const listRecords = async (statements: Engine, name: string): Promise<readonly DatabaseRecord[]> =>
  (await statements.ask(one(STATEMENTS.listRecords, name))).map(readRecord)

/** Whether the database of a user behind the document door needs a decision of an administrator. */
export const isRefused = async (statements: Engine, name: string, database: string): Promise<boolean> =>
  (await listRecords(statements, name)).some(
    (each) => each.door === 'document' && each.database === database && each.state === 'refused',
  )

/** The doors at which this user has no database with its name. A refused one counts unless it is to be tried again. */
export async function listMissing(
  statements: Engine,
  name: string,
  settings: UserDatabaseSettings,
  triesAgain = false,
): Promise<readonly DatabaseDoor[]> {
  const database = toDatabaseName(settings, name)
  const records = (await listRecords(statements, name)).filter(
    (each) => each.database === database && (each.state === 'ready' || !triesAgain),
  )
  return listDoors(settings).filter((door) => !records.some((each) => each.door === door))
}

/** At most a thousand. */
export const listRefused = async (statements: Engine): Promise<readonly DatabaseRecord[]> =>
  (await statements.ask(one(STATEMENTS.listRefused))).map(readRecord)

/** The doors at which jobs of this user wait. */
export async function listWaiting(statements: Engine, name: string): Promise<readonly DatabaseDoor[]> {
  const doors = ['document', 'multi-model'] as const
  const found = await Promise.all(doors.map((door) => statements.ask(one(STATEMENTS.findJob, toKey(door, name)))))
  return doors.filter((_, index) => found[index]?.length !== 0)
}

/** Whether a database waits to be taken from a deleted user. */
export async function isBeingTaken(statements: Engine, { door, name }: Owner, database: string): Promise<boolean> {
  const jobs = await statements.ask(one(STATEMENTS.findJob, toKey(door, name)))
  const wishes = jobs.map((row) => readWish(textOf(row, 'payload')))
  return wishes.some((wish) => wish.action !== 'create' && wish.database === database)
}

/** How many jobs wait, and why the last attempt of one of them failed; empty: none has failed. */
export async function findProgress(statements: Engine) {
  const [row] = await statements.ask(one(STATEMENTS.countJobs))
  return { waiting: numberOf(row, 'waiting'), problem: textOf(row, 'problem') }
}

const readRecord = (row: Row): DatabaseRecord => ({
  name: textOf(row, 'name'),
  door: textOf(row, 'door') === 'document' ? 'document' : 'multi-model',
  database: textOf(row, 'database'),
  state: textOf(row, 'state') === 'ready' ? 'ready' : 'refused',
  reason: textOf(row, 'reason'),
})
