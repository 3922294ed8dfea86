/**
 * Files of users: Cardea's own format, with a first and a last line that mark a complete file; and plain lists as CSV or
 * JSON lines.
 */
import { type PlainUser, readObjects, readPlainList, renderListProblem } from '../../../../src/transfer/plain-list.ts'
import { texts } from './texts.ts'

const HEAD = '{"cardea":"directory","version":1}'
const END = '{"end":"directory"}'

export interface ReadFile {
  /** Users as the API imports them, of Cardea's own format. */
  readonly users: readonly unknown[]
  /** Users of a plain list. */
  readonly plain: readonly PlainUser[]
  /** Lines with other records: administrators and settings. */
  readonly others: number
  /** With any, nothing is imported. */
  readonly problems: readonly string[]
}

const NOTHING: ReadFile = { users: [], plain: [], others: 0, problems: [] }

export function readTransferFile(text: string): ReadFile {
  const objects = text.trimStart().startsWith('{') ? readObjects(text) : []
  if (objects[0]?.record?.['cardea'] === 'directory') return readOwnFormat(objects)
  const { users, problems } = readPlainList(text)
  if (problems.length === 0) return { ...NOTHING, plain: users.map(({ user }) => user) }
  const isOther = problems.some(({ line }) => line === undefined)
  return { ...NOTHING, problems: isOther ? [texts.transfer.problems.format] : problems.map(renderListProblem) }
}

function readOwnFormat(objects: ReturnType<typeof readObjects>): ReadFile {
  const broken = objects.filter(({ record }) => record === undefined)
  if (broken.length > 0) return { ...NOTHING, problems: broken.map(({ line }) => texts.transfer.problems.json(line)) }
  if (objects.at(-1)?.record?.['end'] !== 'directory') return { ...NOTHING, problems: [texts.transfer.problems.cutOff] }
  const content = objects.slice(1, -1)
  const users = content.flatMap(({ record }) => (record && 'user' in record ? [record['user']] : []))
  return { ...NOTHING, users, others: content.length - users.length }
}

export const renderTransferFile = (lines: readonly string[]): string => [HEAD, ...lines, END, ''].join('\n')
