import { dirname, resolve } from 'node:path'
import { messageOf } from '../base/errors.ts'
import { type IniEntry, type IniFile, readIni } from './ini.ts'
import type { Source } from './options.ts'
import { findOption, isConcealed, type OptionTable } from './options.ts'
import { addProblem, type Notices, quote, renderAt } from './problems.ts'
import type { Assignment } from './settings.ts'

/** How files with secrets are found and read. */
export interface SecretFiles {
  /** Folder of relative paths from flags and environment. */
  readonly cwd: string
  /** Text of a file that contains a secret. Throws an error whose message gives the reason. */
  readSecret(path: string): string
}

/** The folder of relative paths: that of the file which contains them, otherwise the working directory. */
export const folderOf = (source: Source, cwd: string): string =>
  source.kind === 'file' ? resolve(cwd, dirname(source.path)) : cwd

const FILE_PREFIX = '@file:'

/** Whether a text names the file that contains a secret. */
export const isFileReference = (text: string): boolean => text.startsWith(FILE_PREFIX)

/** The file that a text names as `@file:path`. */
export const findSecretFile = ({ text, source }: Assignment, cwd: string): string | undefined =>
  isFileReference(text) ? resolve(folderOf(source, cwd), text.slice(FILE_PREFIX.length)) : undefined

/** A hashed password of an administrator. */
export const STORED_FORM = /^-(?:hashed-|pbkdf2[-:])/

export const toFileReference = (path: string): string => `${FILE_PREFIX}${path}`

/** The secret itself, read from its file if the text is `@file:path`. */
export function expandSecret(assignment: Assignment, secretFiles: SecretFiles, report: Notices): string | undefined {
  const { text, source } = assignment
  if (!isFileReference(text)) return text
  if (source.kind === 'run time') {
    addProblem(report, 'bad-value', assignment, 'a file cannot be named at run time')
    return undefined
  }
  const path = text.slice(FILE_PREFIX.length)
  try {
    return secretFiles.readSecret(resolve(folderOf(source, secretFiles.cwd), path))
  } catch (error) {
    const why = messageOf(error)
    addProblem(report, 'bad-file', assignment, `cannot read ${quote(path)}: ${why}`)
    return undefined
  }
}

/** The contents of a file decide which permissions are too wide. The group may read hashes: the server may be in it. */
interface Kind {
  /** What it holds, for the message; `undefined`: not of this kind. */
  describe(entries: readonly IniEntry[], table: OptionTable): string | undefined
  readonly tooMany: number
}

const GROUP_WRITES = 0o020
const OTHERS_WRITE = 0o002
const ANY_READS = 0o044
const OTHERS_READ = 0o004

const KINDS: readonly Kind[] = [
  { describe: describeClear, tooMany: ANY_READS | GROUP_WRITES | OTHERS_WRITE },
  { describe: describeAdmins, tooMany: OTHERS_READ | GROUP_WRITES | OTHERS_WRITE },
  // a user who can write to it can add administrators
  { describe: () => 'configuration', tooMany: OTHERS_WRITE },
]

/** A warning for each file that others can read or write although they should not. */
export const checkFileModes = (files: readonly IniFile[], table: OptionTable): readonly string[] =>
  files.flatMap((file) => checkFileMode(file, table))

function checkFileMode({ path, text, mode = 0, reread }: IniFile, table: OptionTable): readonly string[] {
  if ((mode & 0o077) === 0) return []
  // passwords may have been hashed in the file since it was read
  const { entries } = readIni(reread?.() ?? text)
  const kind = KINDS.find(({ describe }) => describe(entries, table) !== undefined)
  const rights = (kind?.tooMany ?? 0) & mode
  if (rights === 0) return []
  const message = `this file is ${renderRights(rights)} by others and contains ${kind?.describe(entries, table)}: chmod 600 ${path}`
  return [renderAt(path, message)]
}

function renderRights(rights: number): string {
  const words = [rights & ANY_READS && 'readable', rights & (GROUP_WRITES | OTHERS_WRITE) && 'writable']
  return words.filter(Boolean).join(' and ')
}

function describeClear(entries: readonly IniEntry[], table: OptionTable): string | undefined {
  const entry = entries.find((each) => isInClear(each, table))
  return entry && `a plain-text secret ([${entry.section}] ${entry.key})`
}

function describeAdmins(entries: readonly IniEntry[]): string | undefined {
  return entries.some(({ section }) => section === 'admins') ? '[admins]' : undefined
}

function isInClear({ section, key, text }: IniEntry, table: OptionTable): boolean {
  if (isFileReference(text)) return false
  if (section === 'admins') return !STORED_FORM.test(text)
  if (section === 'jwt_keys') return key.startsWith('hmac:')
  const option = findOption(table, section, key)
  return option !== undefined && isConcealed(option, text)
}
