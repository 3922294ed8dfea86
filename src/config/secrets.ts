import { dirname, resolve } from 'node:path'
import { quote } from './problems.ts'
import { complain, type Report } from './report.ts'
import type { Assignment, Source } from './settings.ts'

/** What reading needs of the world outside. */
export interface Surroundings {
  /** What relative paths from flags and environment belong to. */
  readonly cwd: string
  /** Text of a file that holds a secret. Throws an error whose message says why there is none. */
  readSecret(path: string): string
}

/** The folder relative paths belong to: that of the file which names them, else the working directory. */
export const folderOf = (source: Source, cwd: string): string =>
  source.kind === 'file' ? resolve(cwd, dirname(source.path)) : cwd

const FILE_PREFIX = '@file:'

/** Whether a text names the file that holds a secret, instead of being one. */
export const isFileReference = (text: string): boolean => text.startsWith(FILE_PREFIX)

/** The password of an administrator that is a hash already. */
export const STORED_FORM = /^-(?:hashed-|pbkdf2[-:])/

export const toFileReference = (path: string): string => `${FILE_PREFIX}${path}`

/** The secret itself, read from its file where `@file:path` stands for it. */
export function expandSecret(assignment: Assignment, around: Surroundings, report: Report): string | undefined {
  const { text, source } = assignment
  if (!isFileReference(text)) return text
  if (source.kind === 'run time') {
    complain(report, 'bad-value', assignment, 'no file can be named at run time')
    return undefined
  }
  const path = text.slice(FILE_PREFIX.length)
  try {
    return around.readSecret(resolve(folderOf(source, around.cwd), path))
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    complain(report, 'bad-file', assignment, `cannot read ${quote(path)}: ${why}`)
    return undefined
  }
}
