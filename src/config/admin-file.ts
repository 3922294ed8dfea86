import { readFileSync } from 'node:fs'
import { isSameSecret } from '../base/compare.ts'
import { readUtf8 } from '../base/encoding.ts'
import { replaceFile } from '../base/files.ts'
import { type Ini, readIni } from './ini.ts'
import { isFileReference } from './secrets.ts'
import type { AdminEntry } from './settings.ts'

/**
 * Puts the stored form of an administrator's password where the clear text stood, unless the line says something else
 * by now. Gives the reason where it was left alone, else nothing.
 */
export function rewriteAdmin({ name, text, source }: AdminEntry, stored: string): string | undefined {
  if (source.kind !== 'file') return 'it was not given in a file'
  const { path, line } = source
  try {
    const content = readUtf8(readFileSync(path))
    if (content === undefined) return 'the file is not UTF-8 any more'
    const entry = readIni(content).entries.find((candidate) => candidate.line === line && candidate.key === name)
    if (entry?.section !== 'admins') return 'the line has changed meanwhile'
    if (isFileReference(entry.text)) return 'the line names a file, which is left alone'
    if (!isSameSecret(entry.text, text)) return 'the line has changed meanwhile'
    replaceFile(path, setIniValue(content, { line, key: name }, stored))
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** An existing line of a file: its number, and the key that stands there. */
export interface IniPlace {
  readonly line: number
  readonly key: string
}

/**
 * Changes one value of one existing line; every other byte stays as it was. Throws `RangeError` where there is no such
 * line, or where the new value would not read back.
 */
export function setIniValue(text: string, { line, key }: IniPlace, value: string): string {
  const before = readIni(text)
  const index = before.entries.findIndex((entry) => entry.line === line && entry.key === key)
  const entry = before.entries[index]
  if (!entry) throw new RangeError(`line ${line} does not set this key`)
  const after = text.slice(0, entry.start) + value + text.slice(entry.end)
  const wanted = before.entries.map((other, at) => (at === index ? { ...other, text: value } : other))
  if (meaningOf(readIni(after)) !== meaningOf({ ...before, entries: wanted })) {
    throw new RangeError('this value cannot be written on one line of the file')
  }
  return after
}

/** Everything a text says, apart from where in it the values stand. */
function meaningOf({ entries, sections, remarks }: Ini): string {
  const pairs = entries.map(({ section, key, text, line, sectionLine }) => [section, key, text, line, sectionLine])
  return JSON.stringify([pairs, sections, remarks])
}
