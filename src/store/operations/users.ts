import type { Expected } from '../../directory/store-port/changes.ts'
import type {
  Bound,
  Stored,
  UserRange,
  UserStore,
  UserWrite,
  UserWriteOutcome,
  WrittenChange,
} from '../../directory/store-port/users.ts'
import { toFoldKey } from '../../directory/users/search-entries.ts'
import { listClaims, type User, type UserRecord } from '../../directory/users/user.ts'
import type { HashWork } from '../../passwords/hash-work.ts'
import { findHashWork } from '../../passwords/schemes.ts'
import type { DamagedRecords } from '../damaged-records.ts'
import {
  type Engine,
  many,
  manyKeys,
  numberOf,
  type OneStep,
  one,
  type Row,
  type StoreSteps,
  textOf,
  type Value,
} from '../engine.ts'
import { isKey, requireKey, requirePageSize } from '../limits.ts'
import { readRecordRow, readUser, renderRecord } from '../record.ts'
import { STATEMENTS } from '../statements.ts'
import { type Counters, lockCounters, writeCounters } from './changes.ts'
import { createEntryIndex, writeEntries } from './user-search.ts'

/** One write of a user that was accepted. */
export interface UserTurn {
  readonly name: string
  /** `changed`: a user that stays, or a tombstone that does. */
  readonly kind: 'created' | 'changed' | 'deleted'
  /** The sequence of this write; those of later writes are higher. */
  readonly sequence: number
  readonly after: UserRecord
  /** Whether it is not certain that a deleted user is another one than the next of its name. */
  readonly isUncertain?: boolean | undefined
  /** Whether a created user comes from elsewhere, with what it has there. */
  readonly isMoved?: boolean | undefined
  /** Left out: not known. */
  readonly change?: WrittenChange | undefined
}

/** What else is written when users change, in the same transaction. The changes are in order. */
export type OnUserChange = (changes: readonly UserTurn[]) => StoreSteps<void>

export interface UserTransactions {
  /** All writes, and what follows from their outcomes, in one transaction. If that throws, nothing is written. */
  writeUsersWith<T>(
    writes: readonly UserWrite[],
    follow: (outcomes: readonly UserWriteOutcome[]) => StoreSteps<T>,
  ): Promise<T>
}

export function createUserStore(
  engine: Engine,
  damaged: DamagedRecords,
  onUserChange: readonly OnUserChange[],
): UserStore & UserTransactions {
  const addMissingEntries = createEntryIndex(engine, damaged)
  const prepare = async (writes: readonly UserWrite[]) => {
    for (const { record } of writes) requireKey(record.name, 'a name')
    if (writes.some(({ isDistinct, apart }) => isDistinct || apart?.names !== undefined)) await addMissingEntries()
  }
  const importUsers: UserStore['importUsers'] = async (writes, isTrial = false) => {
    await prepare(writes)
    return writes.length === 0 ? [] : engine.transact(() => writeUsers(writes, isTrial, onUserChange))
  }
  return {
    importUsers,
    async writeUsersWith(writes, follow) {
      await prepare(writes)
      return engine.transact(function* () {
        return yield* follow(writes.length === 0 ? [] : yield* writeUsers(writes, false, onUserChange))
      })
    },
    async findUser(name) {
      if (!isKey(name)) return undefined
      const [row] = await engine.ask(one(STATEMENTS.findUser, name))
      return row && damaged.require(() => readStored(row))
    },
    async findUsers(names, onDamaged) {
      const rows = await engine.ask(one(STATEMENTS.findUsers, JSON.stringify(names.filter(isKey))))
      const users = damaged.skip(rows, readStored, onDamaged)
      return new Map(users.map((stored) => [stored.record.name, stored]))
    },
    async listUsers(range) {
      requirePageSize(range.limit)
      const users: Stored<User>[] = []
      let next: UserRange | undefined = range
      while (next) {
        const rows = await engine.ask(selectUsers(next))
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

const readStored = (row: Row): Stored => ({ sequence: numberOf(row, 'sequence'), record: readRecordRow(row) })

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

function* writeUsers(
  writes: readonly UserWrite[],
  isTrial: boolean,
  onUserChange: readonly OnUserChange[],
): StoreSteps<readonly UserWriteOutcome[]> {
  const counters = yield* lockCounters()
  const names = new Set(writes.map(({ record }) => record.name))
  const rows = yield manyKeys(STATEMENTS.findVersion, names)
  const owners = yield* findOwners(writes)
  const twins = yield* findTwins(writes)
  const decision = decideWrites(counters, new Map(rows.map(readVersion)), writes, { owners, twins })
  if (isTrial) return decision.outcomes
  if (decision.accepted.size === 0) return decision.outcomes
  yield* putUsers(decision)
  for (const write of onUserChange) yield* write(decision.changes)
  return decision.outcomes
}

/** The names of the users with each claim. It is one; a store that was changed by hand may have several. */
type Owners = ReadonlyMap<string, ReadonlySet<string>>

const listAsked = (record: UserRecord, apart: UserWrite['apart']): readonly string[] => [
  ...listClaims(record),
  ...(apart?.addressKey === undefined ? [] : [apart.addressKey]),
]

/** The users who have claims that are to be written, or that must be apart from a new name. */
function* findOwners(writes: readonly UserWrite[]): StoreSteps<Owners> {
  const keys = new Set(writes.flatMap(({ record, apart }) => listAsked(record, apart)))
  const rows = keys.size > 0 ? yield manyKeys(STATEMENTS.findClaim, keys) : []
  const byKey = Map.groupBy(rows, (row) => textOf(row, 'key'))
  return new Map([...keys].map((key) => [key, new Set(byKey.get(key)?.map((row) => textOf(row, 'name')))]))
}

/**
 * The users whose names differ only in case or compatibility forms from names that must not, and the administrators of the
 * store: one may have been created since the name was checked. Also those that a new address must be apart from.
 */
function* findTwins(writes: readonly UserWrite[]): StoreSteps<Owners> {
  const names = writes.flatMap(({ isDistinct, record, apart }) => [
    ...(isDistinct ? [record.name] : []),
    ...(apart?.names ?? []),
  ])
  const keys = new Set(names.map(toFoldKey))
  if (keys.size === 0) return new Map()
  const users = yield manyKeys(STATEMENTS.findFold, keys)
  const administrators = yield one(STATEMENTS.listAdministrators)
  const byKey = Map.groupBy(
    [...users, ...administrators].map((row) => textOf(row, 'name')),
    toFoldKey,
  )
  return new Map([...keys].map((key) => [key, new Set(byKey.get(key))]))
}

export interface Version {
  readonly sequence: number
  readonly isLive: boolean
}

interface WriteDecision {
  readonly outcomes: readonly UserWriteOutcome[]
  /** The last accepted write of each name. */
  readonly accepted: ReadonlyMap<string, { readonly sequence: number; readonly record: UserRecord }>
  readonly changes: readonly UserTurn[]
  readonly counters: Counters
}

const toChangeKind = (wasLive: boolean, isLive: boolean): UserTurn['kind'] => {
  if (wasLive === isLive) return 'changed'
  return isLive ? 'created' : 'deleted'
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
  const names = createNameList(twins)
  const accepted = new Map<string, { sequence: number; record: UserRecord }>()
  const changes: UserTurn[] = []
  let { sequence, users } = counters
  const outcomes = writes.map(({ expected, record, isDistinct, apart, ...more }): UserWriteOutcome => {
    const before = versions.get(record.name)
    const found: Expected = before?.sequence ?? 'absent'
    if (found !== expected) return { kind: 'conflict', current: found }
    if (apart?.names?.some((name) => names.isOfOther(name, record))) return { kind: 'taken' }
    if (isDistinct && names.isOfOther(record.name, record)) return { kind: 'look-alike' }
    if (!acceptLinks(record, apart)) return { kind: 'taken' }
    names.add(record)
    sequence += 1
    const isUser = record.kind === 'user'
    const wasUser = before?.isLive ?? false
    users += Number(isUser) - Number(wasUser)
    changes.push({
      name: record.name,
      kind: toChangeKind(wasUser, isUser),
      sequence,
      after: record,
      isUncertain: more.isUncertain,
      isMoved: more.isMoved,
      change: more.change,
    })
    versions.set(record.name, { sequence, isLive: isUser })
    accepted.set(record.name, { sequence, record })
    return { kind: 'written', sequence }
  })
  return { outcomes, accepted, changes, counters: { sequence, users } }
}

/** An external account or an address has one owner. A user who has it already keeps it, so that every other change stays possible. */
function createLinkDecision(owners: Owners) {
  const names = new Map([...owners].map(([key, found]) => [key, new Set(found)]))
  return (record: UserRecord, apart: UserWrite['apart']): boolean => {
    const asked = new Set(listAsked(record, apart))
    const keys = new Set(listClaims(record))
    const isFree = ([key, found]: [string, Set<string>]) =>
      !asked.has(key) || found.size === 0 || found.has(record.name)
    if (![...names].every(isFree)) return false
    for (const [key, found] of names)
      if (keys.has(key)) found.add(record.name)
      else found.delete(record.name)
    return true
  }
}

/** Those before it in the same transaction count too. */
function createNameList(twins: Owners) {
  const names = new Map([...twins].map(([key, found]) => [key, new Set(found)]))
  return {
    isOfOther: (name: string, record: UserRecord): boolean =>
      [...(names.get(toFoldKey(name)) ?? [])].some((other) => other !== record.name),
    add({ kind, name }: UserRecord): void {
      const found = names.get(toFoldKey(name))
      if (kind === 'user') found?.add(name)
      else found?.delete(name)
    },
  }
}

function* putUsers({ accepted, counters }: WriteDecision): StoreSteps<void> {
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
export function selectUsers({ from, to, descending = false, limit }: UserRange): OneStep {
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
