import { describeNameFlaw } from '../../directory/users/check-user.ts'
import { foldName } from '../../directory/users/names.ts'
import { listClaims, type User } from '../../directory/users/user.ts'
import { numberOf, type Row, textOf } from '../engine.ts'
import { findAuditRecord, readAuditChain } from '../operations/audit-row.ts'
import { readNode } from '../operations/nodes.ts'
import { readSetting } from '../operations/settings.ts'
import { readBatch } from '../operations/sign-ins.ts'
import { readTotals } from '../operations/totals.ts'
import { readRecordRow } from '../record.ts'
import type { CountedTable } from './format.ts'
import type { BackupPage } from './read-backup.ts'
import { readRows, type StoreSnapshot, toRow } from './snapshot.ts'

type CheckRow = (row: Row) => string | undefined

const USERS = 'cardea_users'
const UNREADABLE = 'it cannot be read'

/** For the tables that hold more than the schema of the database checks. */
const CHECKS: Readonly<Record<string, CheckRow>> = {
  [USERS]: checkUser,
  cardea_settings: readableBy(readSetting),
  cardea_audit: (row) => (findAuditRecord(row) ? undefined : UNREADABLE),
  cardea_audit_chains: readableBy(readAuditChain),
  cardea_failures: readableBy(readBatch),
  cardea_nodes: readableBy(readNode),
  cardea_totals: readableBy((row) => readTotals(row, 60)),
}

/** What is wrong with the rows, each with its line. `line` is that of the first row. */
export function listProblems({ table, rows, line }: BackupPage): readonly string[] {
  const check = Object.hasOwn(CHECKS, table.name) ? CHECKS[table.name] : undefined
  return rows.flatMap((cells, index) => {
    const problem = check?.(toRow(table, cells))
    return problem === undefined ? [] : [`line ${line + index}, a row of ${table.name}: ${problem}`]
  })
}

function checkUser(row: Row): string | undefined {
  const flaw = describeNameFlaw(String(row['name']))
  return flaw ? `its name ${flaw}` : readableBy(readRecordRow)(row)
}

/** The reader is that of the store. It throws if it cannot read the row. */
function readableBy(read: (row: Row) => unknown): CheckRow {
  return (row) => {
    try {
      read(row)
      return undefined
    } catch {
      return UNREADABLE
    }
  }
}

/** The tables whose rows are numbered by the counter in `cardea_state`. */
const NUMBERED: ReadonlySet<string> = new Set([USERS, 'cardea_settings', 'cardea_ended_sessions'])

/** Tables of one row, which every write relies on. The schema allows no second one. */
const COUNTERS: ReadonlySet<string> = new Set(['cardea_state', 'cardea_failure_state', 'cardea_time'])

/** Finds out why the next write would fail, when all rows were added. */
export function createCounterCheck() {
  let counter = 0
  let highest = 0
  return {
    add({ table: { name, columns }, rows }: BackupPage): void {
      const place = columns.indexOf('sequence')
      const sequences = rows.map((cells) => Number(cells[place]))
      if (name === 'cardea_state') counter = Math.max(counter, ...sequences)
      else if (NUMBERED.has(name)) highest = Math.max(highest, ...sequences)
    },
    findProblem(tables: readonly CountedTable[]): string | undefined {
      const empty = tables.find(({ name, rows }) => COUNTERS.has(name) && rows === 0)
      if (empty) return `${empty.name} is empty`
      return highest > counter ? 'the counter in cardea_state is lower than the number of a row' : undefined
    },
  }
}

/** Finds an external account or an address that several users have, when all rows were added: a sign-in with it would be refused. */
export function createOwnerCheck() {
  const owners = new Map<string, string>()
  let problem: string | undefined
  return {
    add({ table, rows }: BackupPage): void {
      if (table.name !== USERS) return
      for (const row of rows
        .map((cells) => toRow(table, cells))
        .filter((each) => /"(?:links|address)"/.test(textOf(each, 'record')))) {
        const record = readRecordRow(row)
        for (const key of listClaims(record)) {
          const other = owners.get(key)
          if (other !== undefined && other !== record.name)
            problem ??= `${other} and ${record.name} have the same external account or address`
          owners.set(key, record.name)
        }
      }
    },
    findProblem: () => problem,
  }
}

/** Names of users and administrators of which another one differs only in case or compatibility forms. */
export async function listLookAlikes(
  snapshot: StoreSnapshot,
  administrators: readonly string[],
): Promise<readonly string[]> {
  const users = await listUsers(snapshot, (row) => numberOf(row, 'is_live') === 1)
  const byFold = Map.groupBy(new Set([...users, ...administrators]), foldName)
  return [...byFold.values()].filter(({ length }) => length > 1).flat()
}

/** The names of users that look like addresses. */
export const listNamesWithAt = (snapshot: StoreSnapshot): Promise<readonly string[]> =>
  listUsers(snapshot, (row) => numberOf(row, 'is_live') === 1 && textOf(row, 'name').includes('@'))

/** The names of the users whose records a server could not read. */
export const listUnreadableUsers = (snapshot: StoreSnapshot): Promise<readonly string[]> =>
  listUsers(snapshot, (row) => checkUser(row) !== undefined)

/** The names of such users. Only records with this member are read, and one that cannot be read is left out. */
export const listUsersWith = (
  snapshot: StoreSnapshot,
  member: keyof User & string,
  isListed: (user: User) => boolean,
): Promise<readonly string[]> =>
  listUsers(snapshot, (row) => {
    if (!textOf(row, 'record').includes(`"${member}"`) || checkUser(row) !== undefined) return false
    const record = readRecordRow(row)
    return record.kind === 'user' && isListed(record)
  })

async function listUsers(snapshot: StoreSnapshot, isListed: (row: Row) => boolean): Promise<readonly string[]> {
  const names: string[] = []
  for await (const row of readRows(snapshot, USERS)) if (isListed(row)) names.push(String(row['name']))
  return names
}
