import { messageOf, Refusal } from '../base/errors.ts'
import { type Problem, renderProblem } from '../config/problems.ts'

/** The reason why Cardea cannot start, for the operator. */
export class StartError extends Error {
  override readonly name: string = 'StartError'
}

/** Another process holds the store. */
export class StoreBusy extends StartError {}

/** All problems of the configuration. */
export class ConfigError extends StartError {
  override readonly name = 'ConfigError'
  readonly problems: readonly Problem[]
  constructor(problems: readonly Problem[]) {
    super(problems.map(renderProblem).join('\n'))
    this.problems = problems
  }
}

/** For the operator: includes the detail that clients do not see. */
export function reasonOf(error: unknown): string {
  const detail = error instanceof Refusal && error.detail !== undefined ? ` ${error.detail}` : ''
  return `${messageOf(error)}${detail}`
}
