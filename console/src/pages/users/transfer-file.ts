/**
 * Files of users: Cardea's own format, with a first and a last line that mark a complete file; and plain lists as CSV or
 * JSON lines, whose members are those of a new user in the admin API.
 */
import type { GrantLevel } from '../../api/client.ts'
import { texts } from '../../texts.ts'

const HEAD = '{"cardea":"directory","version":1}'
const END = '{"end":"directory"}'

/** What a plain list says about a user. What it does not say stays as it is. */
export interface PlainUser {
  readonly name: string
  readonly password?: string
  readonly mustChangePassword?: boolean
  readonly roles?: readonly string[]
  readonly grants?: readonly { readonly database: string; readonly level: GrantLevel }[]
  /** A day or a time in UTC. */
  readonly expires?: string
  readonly active?: boolean
}

export interface ReadFile {
  /** Users as the API imports them, of Cardea's own format. */
  readonly users: readonly unknown[]
  /** Users of a plain list. */
  readonly plain: readonly PlainUser[]
  /** Lines with other records: administrators and settings. */
  readonly others: number
  readonly problem?: string
}

const NOTHING = { users: [], plain: [], others: 0 }

export function readTransferFile(text: string): ReadFile {
  try {
    if (!text.trimStart().startsWith('{')) return { ...NOTHING, plain: readPlain(readCsv(text)) }
    const records = readJsonLines(text)
    const [first] = records
    if (first?.record['cardea'] === 'directory') return readOwnFormat(records.map(({ record }) => record))
    if (!first || !('name' in first.record)) throw new Error(texts.transfer.problems.format)
    return { ...NOTHING, plain: readPlain(records) }
  } catch (error) {
    return { ...NOTHING, problem: error instanceof Error ? error.message : texts.errors.unknown }
  }
}

type Members = Readonly<Record<string, unknown>>

/** A record, and the line of the file where it begins. */
interface Located {
  readonly line: number
  readonly record: Members
}

function readOwnFormat(records: readonly Members[]): ReadFile {
  if (records.at(-1)?.['end'] !== 'directory') return { ...NOTHING, problem: texts.transfer.problems.cutOff }
  const content = records.slice(1, -1)
  const users = content.flatMap((record) => ('user' in record ? [record['user']] : []))
  return { ...NOTHING, users, others: content.length - users.length }
}

const readJsonLines = (text: string): readonly Located[] =>
  text
    .split('\n')
    .map((content, at) => ({ content, line: at + 1 }))
    .filter(({ content }) => content.trim() !== '')
    .map(({ content, line }) => ({ line, record: readJson(content, line) }))

function readJson(content: string, line: number): Members {
  try {
    const value: unknown = JSON.parse(content)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Members
  } catch {
    // the same problem as other JSON
  }
  throw new Error(line === 1 ? texts.transfer.problems.format : texts.transfer.problems.json(line))
}

const isText = (value: unknown) => typeof value === 'string' && value !== ''
const isFlag = (value: unknown) => typeof value === 'boolean'
const isListOf = (isOne: (value: unknown) => boolean) => (value: unknown) => Array.isArray(value) && value.every(isOne)
const isTime = (value: unknown) => isText(value) && !Number.isNaN(Date.parse(String(value)))
const isGrant = (value: unknown) => {
  const { database, level } = (value ?? {}) as Members
  return isText(database) && Object.keys(texts.users.levels).includes(String(level))
}

/** Each member: whether a value is one, what it has to be, and how a cell of CSV is read. */
const MEMBERS: Readonly<Record<string, Member>> = {
  name: { is: isText, expects: 'a text that is not empty' },
  password: { is: isText, expects: 'a password' },
  mustChangePassword: { is: isFlag, expects: 'true or false', read: readFlag },
  roles: { is: isListOf(isText), expects: 'a list of roles, as ["editor"]', read: readList },
  grants: {
    is: isListOf(isGrant),
    expects: 'databases with a level, as shop:rw, or [{"database":"shop","level":"rw"}]; levels are rw, ro, none',
    read: (cell) => readList(cell).map(readGrant),
  },
  expires: { is: isTime, expects: 'a day or a time in UTC, as 2030-12-31' },
  active: { is: isFlag, expects: 'true or false', read: readFlag },
}

interface Member {
  is(value: unknown): boolean
  readonly expects: string
  read?(cell: string): unknown
}

/** Names may contain blanks. */
function readList(cell: string): readonly string[] {
  const names = cell.split(/[,;\n]/).map((name) => name.trim())
  return names.filter((name) => name !== '')
}

function readFlag(cell: string): unknown {
  const flags: Readonly<Record<string, boolean>> = { true: true, false: false }
  return flags[cell.toLowerCase()] ?? cell
}

/** `shop:rw` */
function readGrant(word: string): unknown {
  const at = word.lastIndexOf(':')
  return { database: word.slice(0, at), level: word.slice(at + 1) }
}

/**
 * Refuses what it does not know: a mistyped member would silently have no effect, and so would the second of two lines
 * for one user.
 */
function readPlain(records: readonly Located[]): readonly PlainUser[] {
  const { problems } = texts.transfer
  const lines = new Map<unknown, number>()
  for (const { line, record } of records) {
    for (const [member, value] of Object.entries({ name: undefined, ...record })) {
      const known = MEMBERS[member]
      if (!known) throw new Error(problems.member(line, member, Object.keys(MEMBERS)))
      if (!known.is(value)) throw new Error(problems.value(line, member, known.expects))
    }
    const { name } = record
    const other = lines.get(name)
    if (other !== undefined) throw new Error(problems.twice(line, String(name), other))
    lines.set(name, line)
  }
  // every member was checked
  return records.map(({ record }) => record as unknown as PlainUser)
}

function readCsv(text: string): readonly Located[] {
  const [head, ...rows] = splitCsv(text)
  const names = head?.cells ?? []
  const members = names.map((name) => Object.keys(MEMBERS).find((each) => each.toLowerCase() === name.toLowerCase()))
  if (!members.includes('name')) throw new Error(texts.transfer.problems.format)
  return rows.map(({ line, cells }) => {
    const filled = members.flatMap((member, column) => {
      const cell = cells[column]?.trim() ?? ''
      return cell === '' ? [] : [[member ?? names[column], (MEMBERS[member ?? '']?.read ?? String)(cell)]]
    })
    return { line, record: Object.fromEntries(filled) }
  })
}

interface Row {
  readonly line: number
  readonly cells: string[]
}

/** Spreadsheets separate cells by commas, semicolons or tabs; the first line shows by which. */
function splitCsv(text: string): readonly Row[] {
  const clean = text.replace(/^\uFEFF/, '').trimEnd()
  const separator = /[,;\t]/.exec(clean.split('\n', 1)[0] ?? '')?.[0] ?? ','
  const cell = new RegExp(`("(?:[^"]|"")*"|[^${separator}\\r\\n]*)(${separator}|\\r?\\n|$)`, 'g')
  let line = 1
  let row: Row = { line, cells: [] }
  const rows = [row]
  for (const [all, content = '', end] of clean.matchAll(cell)) {
    row.cells.push(content.startsWith('"') ? content.slice(1, -1).replaceAll('""', '"') : content.trim())
    // a cell in quotes may have several lines
    line += all.split('\n').length - 1
    if (end === '') break
    if (end === separator) continue
    row = { line, cells: [] }
    rows.push(row)
  }
  return rows.filter(({ cells }) => cells.some((each) => each !== ''))
}

export const renderTransferFile = (lines: readonly string[]): string => [HEAD, ...lines, END, ''].join('\n')
