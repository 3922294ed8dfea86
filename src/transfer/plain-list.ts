/**
 * Plain lists of users as CSV or JSON lines, with the members of a new user in the admin API. The command line and the
 * console read them with this file. Every problem of a list is found, and none names a value that could be a password.
 */
import { readUtcTime } from '../base/clock.ts'
import { type Members, readJsonObject } from '../base/json.ts'
import { findNearest } from '../base/nearest.ts'
// not from the record of a user, which needs Node
import { type Field, GIVEN_FIELDS, GRANT_LEVELS } from '../directory/users/fields.ts'

type GrantLevel = (typeof GRANT_LEVELS)[number]

/** What a list says about a user: the members of a new user in the admin API. */
export interface PlainUser extends Members {
  readonly name: string
  readonly password?: string
  readonly mustChangePassword?: boolean
  readonly roles?: readonly string[]
  readonly grants?: readonly { readonly database: string; readonly level: GrantLevel }[]
  /** A day or a time in UTC. */
  readonly expires?: string
  readonly active?: boolean
}

export interface ListProblem {
  /** Left out if the file as a whole is wrong. */
  readonly line?: number
  readonly name?: string
  readonly reason: string
}

export interface PlainList {
  /** Those without a problem. */
  readonly users: readonly { readonly line: number; readonly user: PlainUser }[]
  readonly problems: readonly ListProblem[]
}

export const renderListProblem = ({ line, reason }: ListProblem): string =>
  line === undefined ? reason : `Line ${line}: ${reason}`

/** A map, because words of a list may be names of members that every object has, such as `constructor`. */
function createTable<T>(rows: Readonly<Record<string, T>>): ReadonlyMap<string, T> {
  return new Map(Object.entries(rows))
}

/** A record, and the line of the file where it begins. */
interface Located {
  readonly line: number
  readonly record: Members
}

interface Records {
  readonly records: readonly Located[]
  readonly problems: readonly ListProblem[]
}

const NO_LIST =
  'This is not a list of users. CSV needs a first line with the column name; JSON lines need the member name.'

export function readPlainList(text: string): PlainList {
  const { records, problems } = text.trimStart().startsWith('{') ? readJsonLines(text) : readCsv(text)
  const lines = new Map<unknown, number>()
  const users: PlainList['users'][number][] = []
  const found = [...problems]
  for (const { line, record } of records) {
    const { name } = record
    const reasons = [...listReasons(record), ...checkTwice(name, lines.get(name))]
    if (!lines.has(name)) lines.set(name, line)
    found.push(...reasons.map((reason) => ({ line, ...(isText(name) && { name: String(name) }), reason })))
    // every member was checked
    if (reasons.length === 0) users.push({ line, user: record as unknown as PlainUser })
  }
  return { users, problems: found.toSorted((one, other) => (one.line ?? 0) - (other.line ?? 0)) }
}

const checkTwice = (name: unknown, other: number | undefined): readonly string[] =>
  isText(name) && other !== undefined ? [`the name ${name} is in line ${other} too. Remove one of them.`] : []

/** A member that is not known would silently have no effect. */
const listReasons = (record: Members): readonly string[] =>
  Object.entries({ name: undefined, ...record }).flatMap(([member, value]) => {
    const known = MEMBERS.get(member)
    if (!known) return [`${member} is unknown. ${suggestMember(member)}`]
    return known.is(value) ? [] : [withHint(`${member} must be ${known.expects}.`, known.suggest?.(value))]
  })

const withHint = (text: string, hint: string | undefined): string =>
  hint === undefined ? text : `${text} Did you mean ${hint}?`

function suggestMember(written: string): string {
  const near = ALIASES.get(written.toLowerCase()) ?? findNearest(written, NAMES)
  return near === undefined ? `A user has ${NAMES.join(', ')}.` : `Did you mean ${near}?`
}

/** What other systems call the members. */
const ALIASES = createTable({
  user: 'name',
  username: 'name',
  login: 'name',
  group: 'roles',
  groups: 'roles',
  database: 'grants',
  databases: 'grants',
  expiry: 'expires',
  enabled: 'active',
})

const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''
const isFlag = (value: unknown) => typeof value === 'boolean'
const isListOf = (isOne: (value: unknown) => boolean) => (value: unknown) => Array.isArray(value) && value.every(isOne)
const isTime = (value: unknown) => isText(value) && readUtcTime(value) !== undefined
const isGrant = (value: unknown) => {
  const { database, level } = (value ?? {}) as Members
  return isText(database) && GRANT_LEVELS.some((each) => each === level)
}

const LEVEL_WORDS = createTable({ r: 'ro', read: 'ro', readonly: 'ro', w: 'rw', write: 'rw', readwrite: 'rw' })
const FLAG_WORDS = createTable({ yes: 'true', no: 'false', '1': 'true', '0': 'false' })

interface Member {
  is(value: unknown): boolean
  readonly expects: string
  /** Reads a cell of CSV. */
  read?(cell: string): unknown
  /** Whether blanks at the ends of a quoted cell belong to the value. */
  readonly keepsBlanks?: boolean
  /** The value that a wrong one probably means. Never of a password. */
  suggest?(value: unknown): string | undefined
}

const FLAG: Member = {
  is: isFlag,
  expects: 'true or false',
  read: readFlag,
  suggest: (value) => FLAG_WORDS.get(String(value).toLowerCase()),
}

/** By type of field. */
const FORMS: Readonly<Partial<Record<Field['type'], Member>>> = {
  name: { is: isText, expects: 'a text that is not empty' },
  password: { is: isText, expects: 'a password', keepsBlanks: true },
  roles: { is: isListOf(isText), expects: 'a list of roles, as ["editor"]', read: readWords },
  grants: {
    is: isListOf(isGrant),
    expects: 'databases with a level, as shop:rw; levels are rw, ro, none',
    read: (cell) => readWords(cell).map(readGrant),
    suggest: suggestGrant,
  },
  time: { is: isTime, expects: 'a day or a time in UTC, as 2030-12-31' },
  flag: FLAG,
}

const MEMBERS: ReadonlyMap<string, Member> = new Map(
  [...GIVEN_FIELDS].flatMap(([member, { type }]) => {
    const form = FORMS[type]
    return form ? [[member, form]] : []
  }),
)
const NAMES = [...MEMBERS.keys()]

/** Names may contain blanks. */
function readWords(cell: string): readonly string[] {
  const words = cell.split(/[,;\n]/).map((word) => word.trim())
  return words.filter((word) => word !== '')
}

function readFlag(cell: string): unknown {
  const word = cell.toLowerCase()
  if (word === 'true') return true
  return word === 'false' ? false : cell
}

/** `shop:rw` */
function readGrant(word: string): Members {
  const at = word.lastIndexOf(':')
  return { database: word.slice(0, at), level: word.slice(at + 1) }
}

function suggestGrant(value: unknown): string | undefined {
  const wrong = Array.isArray(value) ? value.find((each) => !isGrant(each)) : undefined
  const { database, level } = (wrong ?? {}) as Members
  const meant = LEVEL_WORDS.get(String(level).toLowerCase())
  return isText(database) && meant !== undefined ? `${database}:${meant}` : undefined
}

/** The lines that are not empty. `undefined`: the line has no JSON object. */
export const readObjects = (text: string): readonly { readonly line: number; readonly record: Members | undefined }[] =>
  text.split('\n').flatMap((content, at) => {
    const line = at + 1
    return content.trim() === '' ? [] : [{ line, record: readJsonObject(content) }]
  })

function readJsonLines(text: string): Records {
  const read = readObjects(text)
  const [first] = read
  if (!first?.record || !('name' in first.record)) return { records: [], problems: [{ reason: NO_LIST }] }
  return {
    records: read.flatMap(({ line, record }) => (record ? [{ line, record }] : [])),
    problems: read.flatMap(({ line, record }) => (record ? [] : [{ line, reason: 'this is not a JSON object.' }])),
  }
}

/** Columns in any case. Unknown ones are problems of the first line, and their cells are left out. */
function readCsv(text: string): Records {
  const [head, ...rows] = splitCsv(text)
  const written = head?.cells ?? []
  const members = written.map((name) => NAMES.find((each) => each.toLowerCase() === name.toLowerCase()))
  if (members.every((member) => member === undefined)) return { records: [], problems: [{ reason: NO_LIST }] }
  const unknown = written.filter((name, at) => name !== '' && members[at] === undefined)
  const problems = unknown.map((name) => ({ line: 1, reason: `the column ${name} is unknown. ${suggestMember(name)}` }))
  if (!members.includes('name'))
    return { records: [], problems: [...problems, { line: 1, reason: 'the column name is missing.' }] }
  const checked = rows.map((row) => ({ ...row, reason: checkCells(row, written.length) }))
  return {
    records: checked.flatMap(({ line, cells, reason }) =>
      reason === undefined ? [{ line, record: toRecord(members, cells) }] : [],
    ),
    problems: [...problems, ...checked.flatMap(({ line, reason }) => (reason === undefined ? [] : [{ line, reason }]))],
  }
}

/** A row, and the line of the file where it begins. */
interface CsvRow {
  readonly line: number
  readonly cells: readonly string[]
  /** A quote is not closed, or text follows it: the cells are not certain. */
  readonly isBroken?: boolean
}

/** Without an alternative for each character, which would need too much memory for a long cell. */
const QUOTED = '"[^"]*(?:""[^"]*)*"'
const IS_QUOTED = new RegExp(`^${QUOTED}$`)

/** Spreadsheets separate cells by commas, semicolons or tabs; the first line shows by which. Without empty rows. */
function splitCsv(text: string): readonly CsvRow[] {
  const clean = text.replace(/^\uFEFF/, '').trimEnd()
  const separator = /[,;\t]/.exec(clean.split('\n', 1)[0] ?? '')?.[0] ?? ','
  const cell = new RegExp(`(${QUOTED}|[^${separator}\\r\\n]*)(${separator}|\\r?\\n|$)`, 'g')
  const rows: CsvRow[] = []
  let line = 1
  let row = { line, cells: [] as string[], isBroken: false }
  for (const [all, content = '', end] of clean.matchAll(cell)) {
    const isQuoted = content.startsWith('"')
    if (isQuoted && !IS_QUOTED.test(content)) row.isBroken = true
    row.cells.push(isQuoted ? content.slice(1, -1).replaceAll('""', '"') : content.trim())
    // a cell in quotes may have several lines
    line += all.split('\n').length - 1
    if (end === separator) continue
    if (row.cells.some((each) => each !== '')) rows.push(row)
    if (end === '') break
    row = { line, cells: [], isBroken: false }
  }
  return rows
}

function checkCells({ cells, isBroken }: CsvRow, columns: number): string | undefined {
  if (isBroken) return 'a double quote is not closed, or text follows it.'
  if (!cells.slice(columns).some((cell) => cell !== '')) return undefined
  return `there are ${cells.length} cells, and line 1 has ${columns}. A cell that contains the separator is put in double quotes.`
}

/** Empty cells are left out: what a list does not say stays as it is. */
const toRecord = (members: readonly (string | undefined)[], cells: readonly string[]): Members =>
  Object.fromEntries(
    members.flatMap((member, column) => {
      const written = cells[column] ?? ''
      const cell = written.trim()
      const known = MEMBERS.get(member ?? '')
      if (cell === '' || member === undefined || !known) return []
      return [[member, known.keepsBlanks ? written : (known.read ?? String)(cell)]]
    }),
  )

/** As the API imports a user. A password that is in a file must be changed, unless the file says otherwise. */
export const toDraftMembers = (user: PlainUser) => {
  const { name, password, mustChangePassword = true, roles, grants, ...others } = user
  return {
    name,
    ...(password !== undefined && { password: { clear: password }, mustChangePassword }),
    ...(roles && { roles }),
    ...(grants && { grants: Object.fromEntries(grants.map(({ database, level }) => [database, { level }])) }),
    ...Object.fromEntries(Object.entries(others).map(toExported)),
  }
}

function toExported([member, value]: readonly [string, unknown]): readonly [string, unknown] {
  const field = GIVEN_FIELDS.get(member)
  const exported = field?.exported ?? field?.name ?? member
  return [exported, field?.type === 'time' ? readUtcTime(String(value)) : value]
}
