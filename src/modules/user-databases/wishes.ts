/**
 * What the store knows of the databases of users. A wish is a job, stored with the user; its result is a row. Without
 * both, the user is from before the option, or from a version that did not know it.
 */
import type { Job, NewJob } from '../../directory/store-port/jobs.ts'
import type { UserRecord } from '../../directory/users/user.ts'
import { type Engine, manyKeys, numberOf, one, type Row, type StoreSteps, textOf } from '../../store/engine.ts'
import { lockCounters } from '../../store/operations/changes.ts'
import { putJobs } from '../../store/operations/jobs.ts'
import type { UserTurn } from '../../store/operations/users.ts'
import { toStatements } from '../../store/statements.ts'
import { type DatabaseDoor, listDoors, toDatabaseName, type UserDatabaseSettings, VAULT_ROLE } from './settings.ts'

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

/**
 * Which databases a user takes that exist already and hold something. `none`: the user is new, and an earlier one of the
 * name may be lost. `named`: one that names it. `any`: an administrator has decided.
 */
export type Claim = 'none' | 'named' | 'any'

export type Wish =
  | { readonly action: 'create'; readonly claim: Claim }
  | { readonly action: 'keep' | 'remove'; readonly database: string }

const STATEMENTS = toStatements(
  {
    putRecord: `INSERT INTO cardea_own_databases (name, door, database, state, reason) VALUES ($1, $2, $3, $4, $5)
      ON CONFLICT (name, door, database) DO UPDATE SET state = excluded.state, reason = excluded.reason`,
    listRecords: `SELECT name, door, database, state, reason FROM cardea_own_databases WHERE name = $1
      ORDER BY door, database`,
    listRefused: `SELECT name, door, database, state, reason FROM cardea_own_databases WHERE state = 'refused'
      ORDER BY name, door, database LIMIT 1000`,
    countUndecided: `SELECT count(*) AS count FROM cardea_own_databases WHERE state = 'refused'`,
    removeRecords: 'DELETE FROM cardea_own_databases WHERE name = $1 RETURNING name, door, database, state, reason',
    findUser: 'SELECT name FROM cardea_users WHERE name = $1 AND is_live = 1',
    countJobs: `SELECT count(*) AS waiting, coalesce(max(problem), '') AS problem FROM cardea_jobs
      WHERE kind = '${JOB_KIND}'`,
    findJob: `SELECT key, payload FROM cardea_jobs WHERE kind = '${JOB_KIND}' AND key = $1`,
    // a later job may have the number of one that is done
    changeJob: 'UPDATE cardea_jobs SET payload = $3 WHERE id = $1 AND begun_ms = $2',
  },
  'user-databases.',
)

/** The jobs of a user at one door run in order. */
export const toKey = (door: DatabaseDoor, name: string): string => `${door}/${name}`

export function readKey(key: string): Owner {
  const end = key.indexOf('/')
  return { door: key.startsWith('document/') ? 'document' : 'multi-model', name: key.slice(end + 1) }
}

// only `toWishJob` writes these; an earlier version wrote no claim
export const readWish = (payload: string): Wish => ({ claim: 'named', ...JSON.parse(payload) }) as Wish

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
function listJobs(turn: UserTurn, known: readonly DatabaseRecord[], settings: UserDatabaseSettings) {
  const { name, kind, after, change, isUncertain, isMoved } = turn
  const doors = listDoors(settings)
  if (kind === 'created') {
    const claim = isMoved ? 'named' : 'none'
    return hasVaultRole(after) ? [] : doors.map((door) => toWishJob(door, name, { action: 'create', claim }))
  }
  if (kind !== 'deleted') return []
  const action = isUncertain ? 'keep' : settings['user-databases']['on-delete']
  const own = known.filter((record) => record.name === name)
  const database = toDatabaseName(settings, name)
  const others = doors.filter((door) => !own.some((record) => record.door === door && record.database === database))
  // one without a record: from before there were records, imported, or whose creation was interrupted
  const hasVault = hasVaultRole(change?.before) && !own.some(isVault)
  return [
    // an administrator may have given the user a refused one, which is not removed: it is not known whose it was
    ...own.map((record) =>
      toWishJob(record.door, name, {
        action: record.state === 'ready' && !isVault(record) ? action : 'keep',
        database: record.database,
      }),
    ),
    ...others.map((door) => toWishJob(door, name, { action, database })),
    ...(hasVault ? [toWishJob('document', name, { action: 'keep', database: name })] : []),
  ]
}

const hasVaultRole = (record: UserRecord | undefined): boolean =>
  record?.kind === 'user' && record.document.roles.includes(VAULT_ROLE)

/** A vault has the name of its user, who has no other database. */
const isVault = ({ name, database }: DatabaseRecord): boolean => database === name

export interface Owner {
  readonly door: DatabaseDoor
  readonly name: string
}

export interface Wanted extends Owner {
  readonly claim: Claim
}

/**
 * Wishes databases for those users that still exist and have no wish yet, or whose database an administrator gives them.
 * Returns how many.
 */
export async function addWishes(statements: Engine, owners: readonly Wanted[]): Promise<number> {
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
    const wished = owners.filter(
      ({ door, name, claim }) => names.has(name) && (claim === 'any' || !waiting.has(toKey(door, name))),
    )
    yield* putJobs(wished.map(({ door, name, claim }) => toWishJob(door, name, { action: 'create', claim })))
    return wished.length
  })
}

/** From now on the database is the new user's, with what it holds: another attempt of this job takes it. */
export async function acceptWish(statements: Engine, { id, key, begunMs }: Job): Promise<void> {
  const { door, name } = readKey(key)
  const { payload } = toWishJob(door, name, { action: 'create', claim: 'named' })
  await statements.ask(one(STATEMENTS.changeJob, id, begunMs, payload))
}

/** Stores the result of a wish, unless the user was deleted meanwhile. */
export const putRecord = (statements: Engine, record: DatabaseRecord): Promise<void> =>
  statements.transact(function* (): StoreSteps<void> {
    yield* lockCounters()
    const [user] = yield one(STATEMENTS.findUser, record.name)
    const { name, door, database, state, reason } = record
    if (user) yield one(STATEMENTS.putRecord, name, door, database, state, reason)
  })

/** Other writers wait for each batch. */
const BATCH_SIZE = 200

/** The users among these names. */
export async function findUsers(statements: Engine, names: readonly string[]): Promise<ReadonlySet<string>> {
  const found = new Set<string>()
  for (let from = 0; from < names.length; from += BATCH_SIZE) {
    const batch = new Set(names.slice(from, from + BATCH_SIZE))
    const rows = await statements.transact(function* (): StoreSteps<readonly Row[]> {
      return yield manyKeys(STATEMENTS.findUser, batch)
    })
    for (const row of rows) found.add(textOf(row, 'name'))
  }
  return found
}

export const listRecords = async (statements: Engine, name: string): Promise<readonly DatabaseRecord[]> =>
  (await statements.ask(one(STATEMENTS.listRecords, name))).map(readRecord)

const isRefusedIn =
  (database: string) =>
  (each: DatabaseRecord): boolean =>
    each.door === 'document' && each.database === database && each.state === 'refused'

/** Whether the database of a user behind the document door needs a decision of an administrator. */
export const isRefused = async (statements: Engine, name: string, database: string): Promise<boolean> =>
  (await listRecords(statements, name)).some(isRefusedIn(database))

/** Whether this is the database of the user behind the document door, and the user may use it. */
export async function mayUse(statements: Engine, name: string, database: string): Promise<boolean> {
  const records = await listRecords(statements, name)
  return !records.some(isVault) && !records.some(isRefusedIn(database))
}

/** The states of databases that are wished again; `undefined`: there is none with this name. */
const SELECTED = {
  missing: [undefined],
  undecided: ['refused'],
  refused: [undefined, 'refused'],
  all: [undefined, 'refused', 'ready'],
} as const

/** What is to be wished for a user. One that was refused stays so as long as it is not empty. */
export async function listWanted(
  statements: Engine,
  name: string,
  settings: UserDatabaseSettings,
  selection: keyof typeof SELECTED = 'missing',
): Promise<readonly Wanted[]> {
  const database = toDatabaseName(settings, name)
  const selected: readonly unknown[] = SELECTED[selection]
  const records = await listRecords(statements, name)
  if (records.some(isVault)) return []
  return listDoors(settings).flatMap((door): readonly Wanted[] => {
    const state = records.find((each) => each.door === door && each.database === database)?.state
    return selected.includes(state) ? [{ door, name, claim: state === 'refused' ? 'none' : 'named' }] : []
  })
}

export const countUndecided = async (statements: Engine): Promise<number> =>
  numberOf((await statements.ask(one(STATEMENTS.countUndecided)))[0], 'count')

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
