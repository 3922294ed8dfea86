// Cardea's own format: one JSON object per line. The first names the format, the last marks the end of a complete file.
import { badRequest } from '../base/errors.ts'
import { findMember, isJsonObject } from '../base/json.ts'
import type { Administrator } from '../directory/administrator-operations.ts'
import { requireName } from '../directory/users/check-user.ts'
import type { Json, JsonObject, User } from '../directory/users/user.ts'
import { readDraft, toDraft, toDraftJson } from './draft.ts'
import type { Label, RecordReader, RecordReading, Written, WrittenSetting } from './records.ts'
import { requireObject, requireText } from './require.ts'

const CONTENT = 'directory'
const VERSION = 1
const HEAD: JsonObject = { cardea: CONTENT, version: VERSION }
const END: JsonObject = { end: CONTENT }

/** Reports a file without its first or last line as incomplete. */
export function createCardeaReader(): RecordReader {
  let state: 'before' | 'inside' | 'after' = 'before'
  return {
    label,
    findFlaw: () => (state === 'after' ? undefined : 'The last line is missing: the file is incomplete.'),
    read(value) {
      if (state === 'after') throw badRequest('There is a record after the end of the file.')
      if (state === 'before') {
        state = 'inside'
        return readHead(value)
      }
      const line = requireObject(value, 'The record')
      if (line['end'] !== CONTENT) return readRecord(line)
      state = 'after'
      return { kind: 'passed', reason: 'the end' }
    },
  }
}

function readHead(value: unknown): RecordReading {
  const refused = (reason: string): RecordReading => ({ kind: 'refused', reason, isLast: true })
  if (!isJsonObject(value) || value['cardea'] !== CONTENT)
    return refused('This is not a file of "cardea export". Name its format: --from document or --from multi-model.')
  if (value['version'] !== VERSION)
    return refused(`The file has an unknown version; this server reads version ${VERSION}.`)
  return { kind: 'passed', reason: 'the head' }
}

function label(value: unknown): Label {
  const [[kind, content] = []] = isJsonObject(value) ? Object.entries(value) : []
  const name = isJsonObject(content) ? findMember(content, 'name') : undefined
  return {
    id: typeof name === 'string' ? name : undefined,
    heading: kind === 'administrator' || kind === 'setting' ? `${kind}s` : 'users',
  }
}

type RecordKind = (content: Json) => RecordReading

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

function readRecord(line: JsonObject): RecordReading {
  const [[kind, content] = [], ...others] = Object.entries(line)
  const read = RECORDS.get(kind ?? '')
  if (!read || content === undefined || others.length > 0)
    throw badRequest('The line must contain one user, administrator or setting.')
  return read(content)
}

export const writeCardeaUser = (user: User): Written => ({
  text: JSON.stringify({ user: toDraftJson(toDraft(user)) }),
  losses: [],
})

export const CARDEA_HEAD = `${JSON.stringify(HEAD)}\n`

/** Administrators come last: a user can have the name of one, but cannot be created while the administrator exists. */
export function renderCardeaTail(
  administrators: readonly Administrator[],
  settings: readonly WrittenSetting[],
): string {
  const lines: readonly JsonObject[] = [
    ...administrators.map(({ name, text }) => ({ administrator: { name, stored: text } })),
    ...settings.map(({ section, key, text }) => ({ setting: { section, key, text } })),
    END,
  ]
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('')
}
