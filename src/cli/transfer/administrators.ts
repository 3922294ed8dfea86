// Reads administrators from a configuration file or a response of `_config/admins`, and writes such a file.
import { isJsonObject, readJson } from '../../base/json.ts'
import { readIni } from '../../config/ini.ts'
import type { Administrator } from '../../directory/administrator-operations.ts'
import { readAdministrator, toDocumentAdministrator } from '../../transfer/document.ts'
import type { Found } from '../../transfer/dump.ts'
import type { RecordReading } from '../../transfer/records.ts'

/** Every entry of the last `[admins]` section, or of a JSON object. */
export function readAdministratorFile(text: string): readonly Found[] {
  if (!text.trimStart().startsWith('{')) return readSection(text)
  const reading = readJson(text, { noDuplicates: true })
  if (reading.kind === 'refused' || !isJsonObject(reading.value)) return [{ size: 0, reading: UNREADABLE }]
  return Object.entries(reading.value).map(([name, value]) => ({ size: 0, reading: readAdministrator(name, value) }))
}

const UNREADABLE: RecordReading = {
  kind: 'refused',
  heading: 'administrators',
  reason: 'This is not JSON, or a name is duplicated.',
}

function readSection(text: string): readonly Found[] {
  const { sections, entries } = readIni(text)
  const section = sections.findLast(({ name }) => name === 'admins')
  return entries
    .filter(({ sectionLine }) => sectionLine === section?.line)
    .map(({ key, text: value, line }) => ({ size: 0, line, reading: readAdministrator(key, value) }))
}

/** An `[admins]` section as CouchDB reads it. `lost`: names that a configuration file cannot contain. */
export function renderAdministrators(administrators: readonly Administrator[]): {
  readonly text: string
  readonly lost: readonly string[]
} {
  const lost: string[] = []
  const lines = administrators.flatMap((administrator) => {
    const value = toDocumentAdministrator(administrator)
    const line = `${administrator.name} = ${value}`
    if (value !== undefined && isReadBack(administrator.name, value, line)) return [line]
    lost.push(administrator.name)
    return []
  })
  return { text: ['[admins]', ...lines, ''].join('\n'), lost }
}

/** A name can contain characters with a meaning in ini files: a leading bracket, a blank and a semicolon, an equals sign. */
function isReadBack(name: string, value: string, line: string): boolean {
  const { entries } = readIni(`[admins]\n${line}`)
  const [entry] = entries
  return entries.length === 1 && entry?.key === name && entry.text === value
}
