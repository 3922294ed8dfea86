// Cardea's own format: one JSON object per line. The first names the format, the last marks the end of a complete file.
import { findMember, isJsonObject } from '../base/json.ts'
import type { Administrator } from '../directory/account-directory.ts'
import { requireName } from '../directory/users/check-user.ts'
import type { Json, JsonObject } from '../directory/users/user.ts'
import { toDraft, toDraftJson } from './draft.ts'
import { readDraft } from './read-draft.ts'
import {
  createRecordReader,
  type Heading,
  type Reading,
  type RecordReader,
  type RecordWriter,
  type WrittenSetting,
} from './records.ts'
import { refuse, requireObject, requireText } from './require.ts'

const CONTENT = 'directory'
const VERSION = 1
const HEAD: JsonObject = { cardea: CONTENT, version: VERSION }
const END: JsonObject = { end: CONTENT }

export const isCardeaHead = (value: unknown): boolean => isJsonObject(value) && Object.hasOwn(value, 'cardea')

/** Reports a file without its first or last line as incomplete. */
export function createCardeaReader(): RecordReader {
  let state: 'before' | 'inside' | 'after' = 'before'
  const readLine = (value: unknown): Reading => {
    if (state === 'before') {
      const head = readHead(value)
      if (head.kind === 'passed') state = 'inside'
      return head
    }
    if (state === 'after') throw refuse('There is a record after the end of the file.')
    const line = requireObject(value, 'The record')
    if (line['end'] === CONTENT) state = 'after'
    return state === 'after' ? { kind: 'passed', reason: 'the end' } : readRecord(line)
  }
  const { read } = createRecordReader(findId, readLine, findHeading)
  const isCutOff = () => state === 'inside'
  return { read, end: () => (isCutOff() ? CUT_OFF : undefined) }
}

const CUT_OFF: Reading = { kind: 'refused', reason: 'The last line is missing: the file is incomplete.' }

function readHead(value: unknown): Reading {
  const refused = (reason: string): Reading => ({ kind: 'refused', reason, isLast: true })
  if (!isJsonObject(value) || value['cardea'] !== CONTENT) {
    return refused(`The first line must be ${JSON.stringify(HEAD)}.`)
  }
  if (value['version'] !== VERSION)
    return refused(`The file has an unknown version; this server reads version ${VERSION}.`)
  return { kind: 'passed', reason: 'the head' }
}

const findId = (value: unknown): string | undefined => {
  const [content] = isJsonObject(value) ? Object.values(value) : []
  const name = isJsonObject(content) ? findMember(content, 'name') : undefined
  return typeof name === 'string' ? name : undefined
}

const findHeading = (value: unknown): Heading => {
  const [kind] = isJsonObject(value) ? Object.keys(value) : []
  return kind === 'administrator' || kind === 'setting' ? `${kind}s` : 'users'
}

type RecordKind = (content: Json) => Reading

const RECORDS: ReadonlyMap<string, RecordKind> = new Map<string, RecordKind>([
  [
    'user',
    (content) => {
      const draft = readDraft(content)
      return { kind: 'user', id: draft.name, draft, notes: [] }
    },
  ],
  [
    'administrator',
    (content) => {
      const { name, stored } = requireObject(content, 'administrator')
      const id = requireText(name, 'name')
      requireName(id)
      return { kind: 'administrator', id, text: requireText(stored, 'stored') }
    },
  ],
  [
    'setting',
    (content) => {
      const { section, key, text } = requireObject(content, 'setting')
      const setting = {
        section: requireText(section, 'section'),
        key: requireText(key, 'key'),
        text: requireText(text, 'text'),
      }
      return { kind: 'setting', id: `${setting.section}.${setting.key}`, setting }
    },
  ],
])

function readRecord(line: JsonObject): Reading {
  const [[kind, content] = [], ...others] = Object.entries(line)
  const read = RECORDS.get(kind ?? '')
  if (!read || content === undefined || others.length > 0)
    throw refuse('The line must contain one user, administrator or setting.')
  return read(content)
}

/** Administrators come last: a user can have the name of one, but cannot be created while the administrator exists. */
export const createCardeaWriter = (
  administrators: readonly Administrator[],
  settings: readonly WrittenSetting[] = [],
): RecordWriter => ({
  head: renderLines([HEAD]),
  separator: '\n',
  writeUser: (user) => ({ text: JSON.stringify({ user: toDraftJson(toDraft(user)) }), losses: [] }),
  tail(users) {
    const lines = administrators.map(({ name, text }) => ({ administrator: { name, stored: text } }))
    const options = settings.map(({ section, key, text }) => ({ setting: { section, key, text } }))
    return `${users > 0 ? '\n' : ''}${renderLines([...lines, ...options, END])}`
  },
})

const renderLines = (lines: readonly JsonObject[]): string => lines.map((line) => `${JSON.stringify(line)}\n`).join('')
