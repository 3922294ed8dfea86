import { findNearest } from '../base/nearest.ts'
import { isKnownSection, listEffectiveSections } from './compatibility.ts'
import type { Option } from './option-table.ts'
import { isConcealed, type OptionTable } from './options.ts'
import { type Assignment, renderSource } from './settings.ts'

/** Something that prevents a start or a change. */
export interface Problem {
  readonly kind: 'unknown-option' | 'bad-value' | 'bad-file' | 'conflict'
  /** `path:line`, `--flag`, the name of a variable. */
  readonly place: string
  /** What is wrong, without the place and without any secret. */
  readonly message: string
  /** The probable spelling. */
  readonly nearest?: string
}

export const renderProblem = ({ place, message, nearest }: Problem): string =>
  renderAt(place, withSuggestion(message, nearest))

/** A message with its place. */
export const renderAt = (place: string, message: string): string => `${message} (${place})`

export const withSuggestion = (message: string, nearest: string | undefined): string =>
  nearest === undefined ? message : `${message}; did you mean ${nearest}?`

const EXIT_CODES: readonly (readonly [Problem['kind'], number])[] = [
  ['bad-file', 6],
  ['unknown-option', 3],
  ['bad-value', 4],
  ['conflict', 1],
]

/** The exit code of a command with these problems; 0 if there are none. */
export const exitCodeOf = (problems: readonly Problem[]): number =>
  EXIT_CODES.find(([kind]) => problems.some((problem) => problem.kind === kind))?.[1] ?? 0

const SHOWN_CHARACTERS = 60

/** A value in a message: on one line, and shortened. */
export const quote = (text: string): string =>
  JSON.stringify(text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text)

/** A text that an option does not accept. Secrets are not shown. */
export const describeMismatch = (option: Option<unknown>, text: string, expected: string): string =>
  `expected ${expected}${isConcealed(option, text) ? '' : `, got ${quote(text)}`}`

/** The nearest option: in its own section first, then one of that name in another. */
export function findNearestOption(
  { rows }: OptionTable,
  section: string,
  key: string,
): { section: string; key: string } | undefined {
  const own = findNearest(
    key,
    rows.filter((row) => row.section === section).map((row) => row.key),
  )
  if (own !== undefined) return { section, key: own }
  const elsewhere = findNearest(key, new Set(rows.map((row) => row.key)), 2)
  const row = rows.find((candidate) => candidate.key === elsewhere)
  return row && { section: row.section, key: row.key }
}

/**
 * The section that a misspelt name probably means: at most two edits away, or one if the section has fewer than six
 * letters. Case and surrounding blanks are ignored.
 */
export function findNearestSection(table: OptionTable, written: string): string | undefined {
  if (isKnownSection(table, written)) return undefined
  const name = written.trim()
  const all = listEffectiveSections(table)
  const [short, long] = [all.filter(isShort), all.filter((known) => !isShort(known))]
  return findNearest(name, all, 0) ?? findNearest(name, long, 2) ?? findNearest(name, short, 1)
}

const isShort = (name: string): boolean => name.length < 6

/** Problems and warnings collected while reading. */
export interface Notices {
  readonly problems: Problem[]
  /** Messages with their place. They do not prevent a start. */
  readonly warnings: string[]
}

/** `[section] key: what`, or only `what` if the place names the option already. */
const describe = ({ section, key, source }: Assignment, what: string): string =>
  source.kind === 'flag' || source.kind === 'environment' ? what : `[${section}] ${key}: ${what}`

export function warn(report: Notices, assignment: Assignment, what: string): void {
  report.warnings.push(renderAt(renderSource(assignment.source), describe(assignment, what)))
}

export function addProblem(report: Notices, kind: Problem['kind'], assignment: Assignment, what: string): void {
  report.problems.push({ kind, place: renderSource(assignment.source), message: describe(assignment, what) })
}
