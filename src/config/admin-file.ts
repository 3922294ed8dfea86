import { readFileSync } from 'node:fs'
import { isSameSecret } from '../base/compare.ts'
import { readUtf8 } from '../base/encoding.ts'
import { messageOf } from '../base/errors.ts'
import { replaceFile } from '../base/files.ts'
import { type Ini, type IniEntry, readIni } from './ini.ts'
import { isFileReference } from './secrets.ts'
import type { AdminEntry } from './settings.ts'

/**
 * Replaces the plain-text password of an administrator by its hash, unless the line has changed since it was read.
 * Returns the reason if the file was not changed.
 */
export function rewriteAdmin({ name, text, source }: AdminEntry, stored: string): string | undefined {
  if (source.kind !== 'file') return 'it is not set in a file'
  const { path, line } = source
  try {
    const content = readUtf8(readFileSync(path))
    if (content === undefined) return 'the file is not UTF-8 any more'
    const entry = readIni(content).entries.find((candidate) => candidate.line === line && candidate.key === name)
    if (entry?.section !== 'admins') return 'the line has changed since it was read'
    if (isFileReference(entry.text)) return 'the line names a file, which is never rewritten'
    if (!isSameSecret(entry.text, text)) return 'the line has changed since it was read'
    replaceFile(path, setIniValue(content, { line, key: name }, stored))
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}

/**
 * Changes the value of one existing line and no other byte. Throws `RangeError` if there is no such line, or if the new
 * value would not be read back unchanged.
 */
export function setIniValue(text: string, { line, key }: Pick<IniEntry, 'line' | 'key'>, value: string): string {
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

/** The parsed contents without the positions of values. */
function meaningOf({ entries, sections, unparsable }: Ini): string {
  const pairs = entries.map(({ section, key, text, line, sectionLine }) => [section, key, text, line, sectionLine])
  return JSON.stringify([pairs, sections, unparsable])
}
