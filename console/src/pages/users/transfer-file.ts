/**
 * Files of users: Cardea's own format, with a first and a last line that mark a complete file; and plain lists as CSV or
 * JSON lines, whose members are those of a new user in the admin API.
 */
import type { GrantLevel } from '../../api/types.ts'
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
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  try {
    if (!text.trimStart().startsWith('{')) return { ...NOTHING, plain: refuseTwice(readCsv(text), 2) }
    const records = lines.map(readLine)
    const [first = {}] = records
    if (first['cardea'] === 'directory') return readOwnFormat(records)
    if (!('name' in first)) throw new Error(texts.transfer.problems.format)
    return {
      ...NOTHING,
      plain: refuseTwice(
        records.map((record, at) => readPlain(record, at + 1)),
        1,
      ),
    }
  } catch (error) {
    return { ...NOTHING, problem: error instanceof Error ? error.message : texts.errors.unknown }
  }
}

type Line = Readonly<Record<string, unknown>>

function readOwnFormat(records: readonly Line[]): ReadFile {
  if (records.at(-1)?.['end'] !== 'directory') return { ...NOTHING, problem: texts.transfer.problems.cutOff }
  const content = records.slice(1, -1)
  const users = content.flatMap((record) => ('user' in record ? [record['user']] : []))
  return { ...NOTHING, users, others: content.length - users.length }
}

function readLine(line: string): Line {
  try {
    const value: unknown = JSON.parse(line)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Line
  } catch {
    // the same problem as other JSON
  }
  throw new Error(texts.transfer.problems.format)
}

const isText = (value: unknown) => typeof value === 'string' && value !== ''
const isFlag = (value: unknown) => typeof value === 'boolean'
const isListOf = (isOne: (value: unknown) => boolean) => (value: unknown) => Array.isArray(value) && value.every(isOne)
const isTime = (value: unknown) => isText(value) && !Number.isNaN(Date.parse(String(value)))
const isGrant = (value: unknown) => {
  const { database, level } = (value ?? {}) as Line
  return isText(database) && Object.keys(texts.users.levels).includes(String(level))
}

/** Each member: whether a value is one, and how a cell of CSV is read. */
const MEMBERS: Readonly<Record<string, { is(value: unknown): boolean; read?(cell: string): unknown }>> = {
  name: { is: isText },
  password: { is: isText },
  mustChangePassword: { is: isFlag, read: readFlag },
  roles: { is: isListOf(isText), read: readList },
  grants: { is: isListOf(isGrant), read: (cell) => readList(cell).map(readGrant) },
  expires: { is: isTime },
  active: { is: isFlag, read: readFlag },
}

/** Names may contain blanks. */
function readList(cell: string): readonly string[] {
  const names = cell.split(/[,;\n]/).map((name) => name.trim())
  return names.filter((name) => name !== '')
}

function readFlag(cell: string): unknown {
  const flags: Readonly<Record<string, boolean>> = { true: true, false: false }
  return flags[cell.toLowerCase()]
}

/** `shop:rw` */
function readGrant(word: string): unknown {
  const at = word.lastIndexOf(':')
  return { database: word.slice(0, at), level: word.slice(at + 1) }
}

/** Refuses what it does not know: a mistyped member would silently have no effect. */
function readPlain(record: Line, line: number): PlainUser {
  if (!isText(record['name'])) throw new Error(texts.transfer.problems.value(line, 'name'))
  for (const [member, value] of Object.entries(record))
    if (!MEMBERS[member]?.is(value)) throw new Error(texts.transfer.problems.value(line, member))
  // every member was checked
  return record as unknown as PlainUser
}

/** Of two lines for one user, the second would silently have no effect. */
function refuseTwice(users: readonly PlainUser[], firstLine: number): readonly PlainUser[] {
  const seen = new Set<string>()
  for (const [at, { name }] of users.entries()) {
    if (seen.has(name)) throw new Error(texts.transfer.problems.twice(at + firstLine, name))
    seen.add(name)
  }
  return users
}

function readCsv(text: string): readonly PlainUser[] {
  const [names = [], ...rows] = splitCsv(text)
  const members = names.map((name) => Object.keys(MEMBERS).find((each) => each.toLowerCase() === name.toLowerCase()))
  const unknown = members.indexOf(undefined)
  if (!members.includes('name')) throw new Error(texts.transfer.problems.format)
  if (unknown >= 0) throw new Error(texts.transfer.problems.column(names[unknown] ?? ''))
  return rows.map((cells, at) => {
    const filled = members.flatMap((member = '', column) => {
      const cell = cells[column]?.trim() ?? ''
      return cell === '' ? [] : [[member, (MEMBERS[member]?.read ?? String)(cell)]]
    })
    return readPlain(Object.fromEntries(filled), at + 2)
  })
}

/** Spreadsheets separate cells by commas, semicolons or tabs; the first line shows by which. */
function splitCsv(text: string): readonly (readonly string[])[] {
  const clean = text.replace(/^\uFEFF/, '').trimEnd()
  const separator = /[,;\t]/.exec(clean.split('\n', 1)[0] ?? '')?.[0] ?? ','
  const cell = new RegExp(`("(?:[^"]|"")*"|[^${separator}\\r\\n]*)(${separator}|\\r?\\n|$)`, 'g')
  const rows: string[][] = [[]]
  for (const [, content = '', end] of clean.matchAll(cell)) {
    rows.at(-1)?.push(content.startsWith('"') ? content.slice(1, -1).replaceAll('""', '"') : content.trim())
    if (end === '') break
    if (end !== separator) rows.push([])
  }
  return rows.filter((cells) => cells.some((each) => each !== ''))
}

export const renderTransferFile = (lines: readonly string[]): string => [HEAD, ...lines, END, ''].join('\n')
