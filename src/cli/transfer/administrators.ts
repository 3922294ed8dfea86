// Reads administrators from a configuration file or a response of `_config/admins`, imports them, and writes such a file.
import { isJsonObject, readJson } from '../../base/json.ts'
import { readIni } from '../../config/ini.ts'
import { isStoredAdministrator, readAdministrator, toDocumentAdministrator } from '../../transfer/document.ts'
import type { Reading } from '../../transfer/records.ts'
import { type Control, ControlFailure } from '../client.ts'
import type { ImportRecord, ImportRules, Outcome } from './import-summary.ts'

/** Every entry of the last `[admins]` section, or of a JSON object. */
export function readAdministrators(text: string): readonly ImportRecord[] {
  if (!text.trimStart().startsWith('{')) return readSection(text)
  const reading = readJson(text, { noDuplicates: true })
  if (reading.kind === 'refused' || !isJsonObject(reading.value)) return [placed(UNREADABLE)]
  return Object.entries(reading.value).map(([name, value]) => placed(readAdministrator(name, value)))
}

const UNREADABLE: Reading = {
  kind: 'refused',
  heading: 'administrators',
  reason: 'This is not JSON, or a name is duplicated.',
}

const placed = (reading: Reading, line?: number): ImportRecord => ({
  size: 0,
  reading,
  ...(line === undefined ? {} : { line }),
})

function readSection(text: string): readonly ImportRecord[] {
  const { sections, entries } = readIni(text)
  const section = sections.findLast(({ name }) => name === 'admins')
  return entries
    .filter(({ sectionLine }) => sectionLine === section?.line)
    .map(({ key, text: value, line }) => placed(readAdministrator(key, value), line))
}

/** Imports them one by one: there are few, and each costs at most one hash. */
export function createAdministratorImport(
  control: Control,
  { replaces, isTrial }: ImportRules,
): (name: string, text: string) => Promise<Outcome> {
  let known: Promise<Map<string, string>> | undefined
  return async (name, text) => {
    known ??= loadKnown(control)
    const before = (await known).get(name)
    if (before !== undefined && (!replaces || before === text)) return { kind: 'kept' }
    const kind = before === undefined ? 'created' : 'replaced'
    return isTrial ? { kind } : attempt(kind, () => put(control, name, text))
  }
}

async function loadKnown(control: Control): Promise<Map<string, string>> {
  const { administrators } = await control.call('transfer.administrators')
  return new Map(administrators.map(({ name, text }) => [name, text]))
}

const put = (control: Control, name: string, text: string) =>
  control.call('admin.set', {
    params: { name },
    body: isStoredAdministrator(text) ? { stored: text } : { password: text },
  })

async function attempt(kind: 'created' | 'replaced', work: () => Promise<unknown>): Promise<Outcome> {
  try {
    await work()
    return { kind }
  } catch (error) {
    if (!(error instanceof ControlFailure)) throw error
    return { kind: 'refused', reason: error.message }
  }
}

export interface WrittenAdministrators {
  readonly text: string
  /** Names that a configuration file cannot contain. */
  readonly lost: readonly string[]
}

/** An `[admins]` section as CouchDB reads it. */
export function renderAdministrators(
  administrators: readonly { readonly name: string; readonly text: string }[],
): WrittenAdministrators {
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
