import { tryParse } from './codecs.ts'
import { findTarget, isKnownSection } from './compatibility.ts'
import { readEnvironment } from './environment.ts'
import { type Ini, type IniEntry, type IniFile, readIni } from './ini.ts'
import { warnAboutDuplicates } from './open-sections.ts'
import type { OptionTable } from './options.ts'
import { findNearestSection, type Notices, type Problem, renderAt } from './problems.ts'
import type { Assignment } from './settings.ts'

/** A setting made at run time. `text` is `undefined` for a deletion that hides lower layers. */
export interface RuntimeEntry {
  readonly section: string
  readonly key: string
  readonly text: string | undefined
}

export interface LayerInput {
  readonly table: OptionTable
  /** Below the files: they replace defaults of the table. */
  readonly defaults?: readonly Assignment[]
  /** In the order they apply. */
  readonly files: readonly IniFile[]
  readonly runtime: readonly RuntimeEntry[]
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly flags: readonly Assignment[]
}

/**
 * For new folders and for programs: stricter than the defaults of the table, which are those of CouchDB, so that its
 * configurations mean the same here.
 */
export const STRICT_DEFAULTS: readonly Assignment[] = [
  { section: 'chttpd_auth', key: 'same_site', text: 'lax', source: { kind: 'default' } },
  { section: 'auth', key: 'min-password-length', text: '12', source: { kind: 'default' } },
]

/** What `cardea init` writes besides: options that a program which imports the package decides itself. */
export const NEW_SERVER_VALUES: readonly Pick<Assignment, 'section' | 'key' | 'text'>[] = [
  { section: 'auth', key: 'password-check', text: 'on' },
  { section: 'auth', key: 'names', text: 'folded' },
  // 30 days
  { section: 'chttpd_auth', key: 'max_lifetime', text: '2592000' },
]

/** Defaults < files < run time < environment < flags: all assignments, lowest layer first. */
export function readLayers(input: LayerInput, report: Notices) {
  const environment = readEnvironment(input.environment, input.table)
  report.problems.push(...environment.problems)
  const runtime = input.runtime.flatMap(({ section, key, text }): Assignment[] =>
    text === undefined ? [] : [{ section, key, text, source: { kind: 'run time' } }],
  )
  const files = readFiles(input.files, input.table, report)
  return {
    assignments: [...(input.defaults ?? []), ...files.counting, ...runtime, ...environment.assignments, ...input.flags],
    /** Lines of earlier `[admins]` sections, which are ignored. */
    overruledAdmins: files.overruledAdmins,
    deletedAdmins: input.runtime
      .filter((entry) => entry.section === 'admins' && entry.text === undefined)
      .map(({ key }) => key),
  }
}

interface ReadFile extends Ini {
  readonly path: string
}

function readFiles(files: readonly IniFile[], table: OptionTable, report: Notices) {
  const read = files.map(({ path, text }): ReadFile => ({ path, ...readIni(text) }))
  for (const file of read)
    report.problems.push(...findUnparsable(file), ...findUnknownSections(file, table), ...findEmpty(file, table))
  for (const file of read) warnAboutDuplicates(listOptions(file, table), report)
  const countsAsAdmin = pickAdmins(read, report)
  const counting: Assignment[] = []
  const overruledAdmins: Assignment[] = []
  for (const file of read) {
    for (const entry of file.entries) {
      const isCounting = entry.section !== 'admins' || countsAsAdmin(file, entry)
      ;(isCounting ? counting : overruledAdmins).push(toAssignment(file, entry))
    }
  }
  return { counting, overruledAdmins }
}

const toAssignment = ({ path }: ReadFile, { section, key, text, line }: IniEntry): Assignment => ({
  section,
  key,
  text,
  source: { kind: 'file', path, line },
})

const findUnparsable = ({ path, unparsable }: ReadFile): readonly Problem[] =>
  unparsable.map(({ line, message }) => ({ kind: 'bad-file', place: `${path}:${line}`, message }))

/**
 * `require_valid_user =` sets nothing, so the server would be less protected than its file suggests. It is accepted for
 * options that may be empty, as in CouchDB's own files (`secret =`).
 */
const findEmpty = ({ path, empty }: ReadFile, table: OptionTable): readonly Problem[] =>
  empty.flatMap(({ section, key, line }) => {
    const expected = findExpected(table, section, key)
    if (expected === undefined) return []
    return [{ kind: 'bad-value' as const, place: `${path}:${line}`, message: `expected ${expected}, got nothing` }]
  })

/** What the option expects; `undefined` if it may be empty or is not an option of Cardea. */
function findExpected(table: OptionTable, section: string, key: string): string | undefined {
  const target = findTarget(table, section, key)
  return target.kind === 'option' || target.kind === 'fallback'
    ? tryParse(target.row.option.codec, '').expected
    : undefined
}

/** Duplicate administrators are reported with the section that is used. */
const listOptions = (file: ReadFile, table: OptionTable): readonly Assignment[] =>
  file.entries
    .filter(({ section, key }) => section !== 'admins' && !WITHOUT_EFFECT.has(findTarget(table, section, key).kind))
    .map((entry) => toAssignment(file, entry))

const WITHOUT_EFFECT: ReadonlySet<string> = new Set(['unused', 'unknown option', 'unknown section'])

/** Settings in a misspelt section have no effect, so the server would be less protected than its file suggests. */
const findUnknownSections = ({ path, sections }: ReadFile, table: OptionTable): readonly Problem[] =>
  sections
    .filter(({ name }) => !isKnownSection(table, name))
    .map(({ name, line }) => {
      const nearest = findNearestSection(table, name)
      const place = `${path}:${line}`
      const message = `unknown section [${name}]`
      return { kind: 'unknown-option', place, message, ...(nearest && { nearest: `[${nearest}]` }) }
    })

/** Only the last `[admins]` section of all files is used; earlier ones do not add to it. */
function pickAdmins(files: readonly ReadFile[], report: Notices): (file: ReadFile, entry: IniEntry) => boolean {
  const found = files.flatMap((file) =>
    file.sections.filter(({ name }) => name === 'admins').map(({ line }) => ({ file, line })),
  )
  const last = found.at(-1)
  for (const { file, line } of found.slice(0, -1)) {
    const hasEntries = file.entries.some((entry) => entry.section === 'admins' && entry.sectionLine === line)
    if (!hasEntries || !last) continue
    const message = `this [admins] section is ignored: only the last one is used, at ${last.file.path}:${last.line}`
    report.warnings.push(renderAt(`${file.path}:${line}`, message))
  }
  return (file, entry) => file === last?.file && entry.sectionLine === last.line
}
