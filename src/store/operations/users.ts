import type { Expected } from '../../directory/store-port/changes.ts'
import type {
  Bound,
  Stored,
  UserRange,
  UserStore,
  UserWrite,
  UserWriteOutcome,
} from '../../directory/store-port/users.ts'
import { listExternalKeys, type User, type UserRecord } from '../../directory/users/user.ts'
import { toFoldKey } from '../../directory/users/user-search.ts'
import type { HashWork } from '../../passwords/hash-work.ts'
import { findHashWork } from '../../passwords/schemes.ts'
import type { DamagedRecords } from '../damaged-records.ts'
import {
  type Engine,
  many,
  manyKeys,
  numberOf,
  type OneStep,
  type Operation,
  one,
  type Row,
  textOf,
  type Value,
} from '../engine.ts'
import { isKey, requireKey, requirePageSize } from '../limits.ts'
import { readRecordRow, readUser, renderRecord } from '../record.ts'
import { STATEMENTS } from '../statements.ts'
import { type Counters, lockCounters, writeCounters } from './changes.ts'
import { createEntryIndex, writeEntries } from './user-search.ts'

export function createUserStore(engine: Engine, damaged: DamagedRecords): UserStore {
  const addMissingEntries = createEntryIndex(engine, damaged)
  const importUsers: UserStore['importUsers'] = async (writes, isTrial = false) => {
    for (const { record } of writes) requireKey(record.name, 'a name')
    if (writes.some(({ isDistinct }) => isDistinct)) await addMissingEntries()
    return writes.length === 0 ? [] : engine.transact(() => writeUsers(writes, isTrial))
  }
  return {
    importUsers,
    async findUser(name) {
      if (!isKey(name)) return undefined
      const [row] = await engine.ask(one(STATEMENTS.findUser, name))
      return row && damaged.require(() => ({ sequence: numberOf(row, 'sequence'), record: readRecordRow(row) }))
    },
    async listUsers(range) {
      requirePageSize(range.limit)
      const users: Stored<User>[] = []
      let next: UserRange | undefined = range
      while (next) {
        const rows = await engine.ask(listUsers(next))
        users.push(...damaged.skip(rows, readListed, range.onDamaged))
        next = findRest(next, rows, range.limit - users.length)
      }
      return users
    },
    countUsers: async () => numberOf((await engine.ask(one(STATEMENTS.readCounters)))[0], 'users'),
    listHashWork: async () => (await engine.ask(one(STATEMENTS.listHashWork))).map(readHashWork),
    async writeUser(write) {
      const [outcome] = await importUsers([write])
      if (!outcome) throw new TypeError('A write had no outcome')
      return outcome
    },
  }
}

/** What to read in place of damaged records: callers take a page with fewer users than the limit for the last one. */
function findRest(range: UserRange, rows: readonly Row[], missing: number): UserRange | undefined {
  if (missing === 0 || rows.length < range.limit) return undefined
  return { ...range, from: { name: textOf(rows.at(-1), 'name'), isInclusive: false }, limit: missing }
}

const readListed = (row: Row): Stored<User> => ({
  sequence: numberOf(row, 'sequence'),
  record: readUser(textOf(row, 'name'), textOf(row, 'record')),
})

const readHashWork = (row: Row): HashWork => ({
  unit: textOf(row, 'prf'),
  amount: numberOf(row, 'iterations'),
})

const readVersion = (row: Row): [string, Version] => [
  textOf(row, 'name'),
  { sequence: numberOf(row, 'sequence'), isLive: isLive(row) },
]

const isLive = (row: Row): boolean => numberOf(row, 'is_live') === 1

function* writeUsers(writes: readonly UserWrite[], isTrial: boolean): Operation<readonly UserWriteOutcome[]> {
  const counters = yield* lockCounters()
  const names = new Set(writes.map(({ record }) => record.name))
  const rows = yield manyKeys(STATEMENTS.findVersion, names)
  const owners = yield* findOwners(writes)
  const twins = yield* findTwins(writes)
  const decision = decideWrites(counters, new Map(rows.map(readVersion)), writes, { owners, twins })
  if (isTrial) return decision.outcomes
  if (decision.accepted.size > 0) yield* putUsers(decision)
  yield* endPasswordLinks(rows.map((row) => textOf(row, 'name')).filter((name) => decision.accepted.has(name)))
  return decision.outcomes
}

/** The names of the users with each external account. It is one; a store that was changed by hand may have several. */
type Owners = ReadonlyMap<string, ReadonlySet<string>>

/** The users who have external accounts that are to be written. */
function* findOwners(writes: readonly UserWrite[]): Operation<Owners> {
  const keys = new Set(writes.flatMap(({ record }) => listExternalKeys(record)))
  const rows = keys.size > 0 ? yield manyKeys(STATEMENTS.findExternal, keys) : []
  const byKey = Map.groupBy(rows, (row) => textOf(row, 'key'))
  return new Map([...keys].map((key) => [key, new Set(byKey.get(key)?.map((row) => textOf(row, 'name')))]))
}

/** The users whose names differ only in case or compatibility forms from names that must not. */
function* findTwins(writes: readonly UserWrite[]): Operation<Owners> {
  const keys = new Set(writes.flatMap(({ isDistinct, record }) => (isDistinct ? toFoldKey(record.name) : [])))
  const rows = keys.size > 0 ? yield manyKeys(STATEMENTS.findFold, keys) : []
  const byKey = Map.groupBy(rows, (row) => textOf(row, 'key'))
  return new Map([...keys].map((key) => [key, new Set(byKey.get(key)?.map((row) => textOf(row, 'name')))]))
}

/** A link is for the user as it was: who created it may not be allowed to manage the user after the change. */
function* endPasswordLinks(names: readonly string[]): Operation<void> {
  if (names.length > 0) yield manyKeys(STATEMENTS.removePasswordLinkOf, names)
}

export interface Version {
  readonly sequence: number
  readonly isLive: boolean
}

interface WriteDecision {
  readonly outcomes: readonly UserWriteOutcome[]
  /** The last accepted write of each name. */
  readonly accepted: ReadonlyMap<string, { readonly sequence: number; readonly record: UserRecord }>
  readonly counters: Counters
}

/** Accepts each write that expects the current version, in order: a write sees the effect of those before it. */
export function decideWrites(
  counters: Counters,
  current: ReadonlyMap<string, Version>,
  writes: readonly UserWrite[],
  { owners = new Map(), twins = new Map() }: { readonly owners?: Owners; readonly twins?: Owners } = {},
): WriteDecision {
  const versions = new Map(current)
  const acceptLinks = createLinkDecision(owners)
  const acceptName = createNameDecision(twins)
  const accepted = new Map<string, { sequence: number; record: UserRecord }>()
  let { sequence, users } = counters
  const outcomes = writes.map(({ expected, record, isDistinct }): UserWriteOutcome => {
    const before = versions.get(record.name)
    const found: Expected = before?.sequence ?? 'absent'
    if (found !== expected) return { kind: 'conflict', current: found }
    if (!acceptName(record, isDistinct)) return { kind: 'look-alike' }
    if (!acceptLinks(record)) return { kind: 'taken' }
    sequence += 1
    const isUser = record.kind === 'user'
    users += Number(isUser) - Number(before?.isLive ?? false)
    versions.set(record.name, { sequence, isLive: isUser })
    accepted.set(record.name, { sequence, record })
    return { kind: 'written', sequence }
  })
  return { outcomes, accepted, counters: { sequence, users } }
}

/** An external account has one owner. A user who has it already keeps it, so that every other change stays possible. */
function createLinkDecision(owners: Owners) {
  const names = new Map([...owners].map(([key, found]) => [key, new Set(found)]))
  return (record: UserRecord): boolean => {
    const keys = new Set(listExternalKeys(record))
    const isFree = ([key, found]: [string, Set<string>]) => !keys.has(key) || found.size === 0 || found.has(record.name)
    if (![...names].every(isFree)) return false
    for (const [key, found] of names)
      if (keys.has(key)) found.add(record.name)
      else found.delete(record.name)
    return true
  }
}

/** Those before it in the same transaction count too. */
function createNameDecision(twins: Owners) {
  const names = new Map([...twins].map(([key, found]) => [key, new Set(found)]))
  return ({ kind, name }: UserRecord, isDistinct = false): boolean => {
    const found = names.get(toFoldKey(name))
    if (found && isDistinct && [...found].some((other) => other !== name)) return false
    if (kind === 'user') found?.add(name)
    else found?.delete(name)
    return true
  }
}

function* putUsers({ accepted, counters }: WriteDecision): Operation<void> {
  const rows = [...accepted].map(([name, { sequence, record }]) => [
    name,
    sequence,
    record.kind === 'user' ? 1 : 0,
    renderRecord(record),
    ...toHashColumns(record),
  ])
  yield many(STATEMENTS.putUser, rows)
  yield* writeEntries([...accepted.values()].map(({ record }) => record))
  const deleted = [...accepted.values()].flatMap(({ record }) => (record.kind === 'tombstone' ? record.name : []))
  // they must not become those of a later user of the same name
  if (deleted.length > 0) for (const name of REMOVED_WITH_USERS) yield manyKeys(STATEMENTS[name], deleted)
  yield* writeCounters(counters)
}

const REMOVED_WITH_USERS = ['removeSignIn', 'removeRecoveryCodes', 'removeCodeSteps', 'removeEarlierCodeStep'] as const

/** The columns are named after PBKDF2, whose unit of work is an iteration of a PRF; other schemes have other units. */
function toHashColumns(record: UserRecord): readonly [unit: string | null, amount: number | null] {
  const work = record.kind === 'user' ? findHashWork(record.password) : undefined
  return work ? [work.unit, work.amount] : [null, null]
}

/** The statement for one page. Each combination of bounds has its own text, so that each is a range of the index. */
export function listUsers({ from, to, descending = false, limit }: UserRange): OneStep {
  const [low, high] = descending ? [to, from] : [from, to]
  const lowest = low && toTextBound(low, false)
  const highest = high && toTextBound(high, true)
  const values: Value[] = []
  const conditions = ['is_live = 1']
  for (const [bound, direction] of [[lowest, '>'] as const, [highest, '<'] as const]) {
    if (!bound) continue
    values.push(bound.name)
    conditions.push(`name ${direction}${bound.isInclusive ? '=' : ''} $${values.length}`)
  }
  values.push(limit)
  const text = `SELECT name, sequence, record FROM cardea_users WHERE ${conditions.join(' AND ')}
    ORDER BY name ${descending ? 'DESC' : 'ASC'} LIMIT $${values.length}`
  const name = `listUsers_${describeBound(lowest)}_${describeBound(highest)}_${descending ? 'down' : 'up'}`
  return one({ name, text }, ...values)
}

function describeBound(bound: Bound | undefined): string {
  if (!bound) return 'open'
  return bound.isInclusive ? 'inclusive' : 'exclusive'
}

/**
 * PostgreSQL has no U+0000, and no name contains it. So a bound `a\0…` is replaced by `a`, exclusive as a lower bound
 * and inclusive as an upper one, which selects the same names.
 */
function toTextBound({ name, isInclusive }: Bound, isUpper: boolean): Bound {
  const end = name.indexOf('\0')
  if (end < 0) return { name: name.toWellFormed(), isInclusive }
  return { name: name.slice(0, end).toWellFormed(), isInclusive: isUpper }
}
