import { type Ini, type IniEntry, readIni } from '../ini.ts'
import type { RuntimeEntry } from '../runtime.ts'
import type { Assignment } from '../settings.ts'
import { readEnvironment } from './environment.ts'
import type { Report } from './report.ts'

export interface IniFile {
  readonly path: string
  readonly text: string
  /** Permission bits, where they are known. */
  readonly mode?: number
  /** What it holds by now: passwords of administrators are hashed in it. */
  reread?(): string
}

export interface LayerInput {
  /** In the order they apply. */
  readonly files: readonly IniFile[]
  readonly runtime: readonly RuntimeEntry[]
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly flags: readonly Assignment[]
}

export interface Layers {
  /** Everything given, lowest layer first. */
  readonly assignments: readonly Assignment[]
  readonly deletedAdmins: readonly string[]
}

/** Files < run time < environment < flags. */
export function readLayers(input: LayerInput, report: Report): Layers {
  const environment = readEnvironment(input.environment)
  report.problems.push(...environment.problems)
  report.warnings.push(...environment.warnings)
  const runtime = input.runtime.flatMap(({ section, key, text }): Assignment[] =>
    text === undefined ? [] : [{ section, key, text, source: { kind: 'run time' } }],
  )
  return {
    assignments: [...readFiles(input.files, report), ...runtime, ...environment.assignments, ...input.flags],
    deletedAdmins: input.runtime
      .filter((entry) => entry.section === 'admins' && entry.text === undefined)
      .map(({ key }) => key),
  }
}

interface ReadFile extends Ini {
  readonly path: string
}

function readFiles(files: readonly IniFile[], report: Report): Assignment[] {
  const read = files.map(({ path, text }): ReadFile => ({ path, ...readIni(text) }))
  for (const { path, remarks } of read) {
    report.warnings.push(...remarks.map(({ line, message }) => `${path}:${line}: ${message}`))
  }
  const countsAsAdmin = pickAdmins(read, report)
  return read.flatMap((file) =>
    file.entries
      .filter((entry) => entry.section !== 'admins' || countsAsAdmin(file, entry))
      .map(({ section, key, text, line }) => ({
        section,
        key,
        text,
        source: { kind: 'file', path: file.path, line } as const,
      })),
  )
}

/** The last `[admins]` section found while loading applies, alone: earlier ones do not add to it. */
function pickAdmins(files: readonly ReadFile[], report: Report): (file: ReadFile, entry: IniEntry) => boolean {
  const found = files.flatMap((file) =>
    file.sections.filter(({ name }) => name === 'admins').map(({ line }) => ({ file, line })),
  )
  const last = found.at(-1)
  for (const { file, line } of found.slice(0, -1)) {
    const hasEntries = file.entries.some((entry) => entry.section === 'admins' && entry.sectionLine === line)
    if (!hasEntries || !last) continue
    const message = `this [admins] section does not count: the last one does, at ${last.file.path}:${last.line}`
    report.warnings.push(`${file.path}:${line}: ${message}`)
  }
  return (file, entry) => file === last?.file && entry.sectionLine === last.line
}
