import { type Problem, renderAt } from './problems.ts'
import { type Assignment, renderSource } from './settings.ts'

/** What was met while reading. */
export interface Report {
  readonly problems: Problem[]
  /** Sentences with their place, about what keeps nothing from starting. */
  readonly warnings: string[]
}

/** `[section] key: what`, or only what where the place names the option already. */
function describe({ section, key, source }: Assignment, what: string): string {
  return source.kind === 'flag' || source.kind === 'environment' ? what : `[${section}] ${key}: ${what}`
}

export function warn(report: Report, assignment: Assignment, what: string): void {
  report.warnings.push(renderAt(renderSource(assignment.source), describe(assignment, what)))
}

export function complain(report: Report, kind: Problem['kind'], assignment: Assignment, what: string): void {
  report.problems.push({ kind, place: renderSource(assignment.source), message: describe(assignment, what) })
}
