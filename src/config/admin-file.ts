import { readFileSync } from 'node:fs'
import { isSameSecret } from '../base/compare.ts'
import { readUtf8 } from '../base/encoding.ts'
import { replaceFile } from '../base/files.ts'
import { readIni } from './ini.ts'
import { setIniValue } from './ini-edit.ts'
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
