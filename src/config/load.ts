import { readdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { compareBytes, readUtf8 } from '../base/encoding.ts'
import { attempt, codeOf, messageOf } from '../base/errors.ts'
import { readBounded } from '../base/files.ts'
import type { Flags } from './flags.ts'
import type { IniFile } from './ini.ts'
import type { RuntimeEntry } from './layers.ts'
import type { OptionTable, Rule } from './options.ts'
import type { Notices } from './problems.ts'
import { type ConfigReading, readSettings } from './read.ts'
import type { Assignment } from './settings.ts'

export interface LoadInput {
  readonly table: OptionTable
  readonly flags: Pick<Flags, 'configs' | 'flags' | 'problems'>
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** Replace defaults of the table. */
  readonly defaults?: readonly Assignment[]
  /** In addition to those of the table. */
  readonly rules?: readonly Rule[]
  /** Contents of pipes, which can be read only once. */
  readonly pipes?: Map<string, IniFile>
  /** The files that had content when they were read before. */
  readonly filled?: Set<string>
  /** Gets the paths of the files without content. */
  readonly empty?: Set<string>
}

/** Combines files, environment and flags with the run-time settings of the store. */
export type SettingsReader = (runtime: readonly RuntimeEntry[]) => ConfigReading

/** Reads every file once: later calls of the reader see no later edit of a file. `--config` replaces `CARDEA_CONFIG`. */
export function openSettings(input: LoadInput): SettingsReader {
  const { table, flags, env, cwd, defaults = [], rules = [] } = input
  const report: Notices = { problems: [...flags.problems], warnings: [] }
  const named =
    flags.configs.length > 0 ? flags.configs : (env['CARDEA_CONFIG'] ?? '').split(':').filter((path) => path !== '')
  const files = named.flatMap((name) =>
    listFiles(name, cwd, report).flatMap((path) => loadFile(path, path === name, input, report)),
  )
  const layers = { table, defaults, files, environment: env, flags: flags.flags }
  const around = { ...layers, cwd, rules, readSecret: once(readSecret) }
  return (runtime) => {
    const { settings, problems, warnings } = readSettings({ ...around, runtime })
    return {
      settings,
      problems: [...report.problems, ...problems],
      warnings: [...report.warnings, ...warnings],
    }
  }
}

/** Remembers the text of each path. A failure is not remembered. */
function once(read: (path: string) => string): (path: string) => string {
  const known = new Map<string, string>()
  return (path) => {
    const text = known.get(path) ?? read(path)
    known.set(path, text)
    return text
  }
}

/** The file itself, or the `*.ini` files of a folder in the byte order of their names. */
function listFiles(path: string, cwd: string, report: Notices): readonly string[] {
  try {
    const folder = resolve(cwd, path)
    if (!statSync(folder).isDirectory()) return [path]
    const names = readdirSync(folder).filter((name) => name.endsWith('.ini') && !name.startsWith('.'))
    if (names.length === 0)
      report.problems.push({ kind: 'bad-file', place: path, message: 'there is no *.ini file in this folder' })
    return names.sort(compareBytes).map((name) => join(path, name))
  } catch (error) {
    report.problems.push({ kind: 'bad-file', place: path, message: reasonOf(error) })
    return []
  }
}

const MAX_INI_BYTES = 4 * 1024 * 1024
const MAX_SECRET_BYTES = 1024 * 1024

/** `isNamed`: it was named itself, not found in a folder. */
function loadFile(path: string, isNamed: boolean, input: LoadInput, report: Notices): readonly IniFile[] {
  const { cwd, pipes, filled, empty } = input
  const known = isNamed ? pipes?.get(path) : undefined
  if (known) return [known]
  const place = resolve(cwd, path)
  try {
    const { bytes, mode, isPipe } = readBounded(place, MAX_INI_BYTES, isNamed)
    const text = readUtf8(bytes)
    if (text !== undefined && isCutOff(place, text, filled)) throw new Error(CUT_OFF)
    if (text?.trim() === '') empty?.add(path)
    if (text !== undefined && isPipe) pipes?.set(path, { path, text })
    if (text !== undefined)
      return [isPipe ? { path, text } : { path, text, mode, reread: () => rereadFile(place) ?? text }]
    report.problems.push({
      kind: 'bad-file',
      place: `${path}:${findBadLine(bytes)}`,
      message: 'this line is not UTF-8',
    })
  } catch (error) {
    report.problems.push({ kind: 'bad-file', place: path, message: reasonOf(error) })
  }
  return []
}

/** A file that had options and is empty now was probably cut off by a failed write: its options must not be dropped. */
function isCutOff(path: string, text: string, filled: Set<string> | undefined): boolean {
  if (text === '') return filled?.has(path) ?? false
  filled?.add(path)
  return false
}

const CUT_OFF = 'the file was not empty before: restore it, or delete it if it is no longer needed'

const rereadFile = (place: string): string | undefined =>
  attempt(() => readUtf8(readBounded(place, MAX_INI_BYTES).bytes))

const LINE_ENDS = new Set([0x0a, 0x0d, 0x1a])

/** Number of the first line that is not UTF-8. A line end is never part of a longer character. */
function findBadLine(bytes: Uint8Array): number {
  let line = 1
  let from = 0
  for (let at = 0; at < bytes.length; at += 1) {
    if (!LINE_ENDS.has(bytes[at] ?? 0)) continue
    if (readUtf8(bytes.subarray(from, at)) === undefined) return line
    if (bytes[at] === 0x0d && bytes[at + 1] === 0x0a) at += 1
    from = at + 1
    line += 1
  }
  return line
}

function readSecret(path: string): string {
  const text = tryReading(path)
  if (text === undefined) throw new Error('it is not UTF-8')
  const secret = text.replace(/\r?\n$/, '')
  if (secret === '') throw new Error('it is empty')
  return secret
}

function tryReading(path: string): string | undefined {
  try {
    return readUtf8(readBounded(path, MAX_SECRET_BYTES).bytes)
  } catch (error) {
    throw new Error(reasonOf(error), { cause: error })
  }
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'there is no such file'],
  ['EACCES', 'permission denied'],
  ['EPERM', 'permission denied'],
  ['EISDIR', 'it is a folder'],
  ['ENOTDIR', 'a part of its path is not a folder'],
  ['ELOOP', 'its links lead in a circle'],
])

const reasonOf = (error: unknown): string => REASONS.get(codeOf(error)) ?? messageOf(error)
