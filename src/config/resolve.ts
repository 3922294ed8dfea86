import { hostname } from 'node:os'
import type { Classified } from './classify.ts'
import { tryParse } from './codecs.ts'
import { isStrictEnough } from './compatibility.ts'
import { isOnCommandLine } from './flags.ts'
import type { Option } from './option-table.ts'
import { type Config, isConcealed, type OptionName, type OptionRow, type OptionTable } from './options.ts'
import { addProblem, describeMismatch, type Notices, warn } from './problems.ts'
import { expandSecret, folderOf, isFileReference, type SecretFiles } from './secrets.ts'
import type { Assignment } from './settings.ts'

interface Work {
  readonly secretFiles: SecretFiles
  readonly report: Notices
  /** The assignments that are used. */
  readonly snapshot: Map<OptionName, Assignment>
  /** Options with a value that cannot be read. */
  readonly wrong: Set<OptionName>
  /** Values of earlier sections that would make an option less strict. */
  readonly tooLoose: Assignment[]
}

export type Resolution = Omit<Work, 'secretFiles' | 'report'> & { readonly values: Config }

interface ReadValue {
  readonly value: unknown
  readonly assignment: Assignment
}

/** One value for every row of the table: the last assignment, that of an earlier section, or the default. */
export function resolveOptions(
  table: OptionTable,
  sorted: Classified,
  secretFiles: SecretFiles,
  report: Notices,
): Resolution {
  const work: Work = { secretFiles, report, snapshot: new Map(), wrong: new Set(), tooLoose: [] }
  const resolve = (rows: readonly OptionRow[]) =>
    Object.fromEntries(rows.map((row) => [row.key, resolveRow(row, sorted, work)]))
  const bySection = Map.groupBy(table.rows, ({ section }) => section)
  const values = Object.fromEntries([...bySection].map(([section, rows]) => [section, resolve(rows)]))
  // has the shape of the table, because it has one value for each row
  return { ...work, values: withNodeName(values as unknown as Config, work) }
}

/** Nodes that share a store need different names. Only PostgreSQL is shared. */
function withNodeName(values: Config, { snapshot }: Work): Config {
  const isGiven = (snapshot.get('node.name')?.source.kind ?? 'default') !== 'default'
  if (isGiven || !/^postgres/.test(values.store.url)) return values
  const host = hostname().replaceAll(/[^A-Za-z0-9_.:-]/g, '-') || 'localhost'
  return { ...values, node: { ...values.node, name: `cardea@${host}` } }
}

function resolveRow(row: OptionRow, sorted: Classified, work: Work): unknown {
  const given = dropOverruled(mergeFlags(row, sorted.own.get(row.name) ?? []))
  const own = given.map((assignment) => readValue(row, assignment, work))
  const earlier = (sorted.fallback.get(row.name) ?? []).flatMap((assignment) => readValue(row, assignment, work) ?? [])
  const isGiven = given.some(({ source }) => source.kind !== 'default')
  const chosen = isGiven ? own.at(-1) : (chooseEarlier(row, earlier, work) ?? own.at(-1))
  if (!chosen) return initialOf(row, work.secretFiles.cwd)
  work.snapshot.set(row.name, chosen.assignment)
  warnAboutValue(row.option, chosen, work.report)
  return chosen.value
}

/** A flag or variable hides a bad run-time value, which could not be repaired while the server does not start. */
function dropOverruled(own: readonly Assignment[]): readonly Assignment[] {
  const isPinned = own.some(({ source }) => source.kind === 'flag' || source.kind === 'environment')
  return isPinned ? own.filter(({ source }) => source.kind !== 'run time') : own
}

/** Repeated flags of a list are joined; of another option, the last one is used. */
function mergeFlags(row: OptionRow, own: readonly Assignment[]): readonly Assignment[] {
  const flags = own.filter(({ source }) => source.kind === 'flag')
  const last = flags.at(-1)
  if (!row.option.codec.isList || !last || flags.length < 2) return own
  const text = flags.map((flag) => flag.text).join(', ')
  return [...own.filter(({ source }) => source.kind !== 'flag'), { ...last, text }]
}

function readValue(row: OptionRow, assignment: Assignment, work: Work): ReadValue | undefined {
  const read = readAssigned(row.option, assignment, work.secretFiles, work.report)
  if (!read) work.wrong.add(row.name)
  return read && { ...read, assignment }
}

/** The value that an option is set to; `undefined`: it cannot be read, which is reported. */
export function readAssigned(option: Option<unknown>, assignment: Assignment, files: SecretFiles, report: Notices) {
  const { codec, secret } = option
  const text = secret ? expandSecret(assignment, files, report) : assignment.text
  if (text === undefined) return undefined
  const read = tryParse(codec, codec.resolve?.(text, folderOf(assignment.source, files.cwd)) ?? text)
  if ('value' in read) return read
  addProblem(report, 'bad-value', assignment, describeMismatch(option, text, read.expected))
  return undefined
}

/** Chooses among the last values of each earlier section one that does not make the option less strict. */
function chooseEarlier(row: OptionRow, earlier: readonly ReadValue[], work: Work): ReadValue | undefined {
  const bySection = new Map(earlier.map((read) => [read.assignment.section, read]))
  const { true: strict = [], false: loose = [] } = Object.groupBy(bySection.values(), (read) =>
    isStrictEnough(row.name, read.value) ? 'true' : 'false',
  )
  for (const { value, assignment } of loose) {
    work.tooLoose.push(assignment)
    if (!isDefault(row, value)) {
      warn(
        work.report,
        assignment,
        `this is ignored, because it would make ${row.name} less strict; write it there if you want it`,
      )
    }
  }
  const chosen = strict.at(-1)
  if (chosen) warn(work.report, chosen.assignment, `this is read as ${row.name}; write it there`)
  return chosen
}

const isDefault = ({ option: { codec, initial } }: OptionRow, value: unknown): boolean =>
  codec.print(value) === codec.print(initial)

function initialOf(row: OptionRow, cwd: string): unknown {
  const { codec, initial } = row.option
  const text = codec.print(initial)
  return codec.parse(codec.resolve?.(text, cwd) ?? text)
}

export function warnAboutValue(option: Option<unknown>, { value, assignment }: ReadValue, report: Notices): void {
  const { source, text } = assignment
  const warning = option.codec.warn?.(value)
  if (warning) warn(report, assignment, warning)
  if (isOnCommandLine(source) && isConcealed(option, text) && !isFileReference(text)) {
    warn(
      report,
      assignment,
      'other users of this machine can read a command line; @file:path and the environment are safer',
    )
  }
}
