import { type Problem, renderProblem } from '../config/problems.ts'

/** What keeps Cardea from starting, with a sentence for whoever starts it. */
export class StartError extends Error {
  override readonly name = 'StartError'
}

/** Somebody else works on the store. */
export class StoreBusy extends StartError {}

/** The configuration has problems: all of them. */
export class ConfigError extends StartError {
  readonly problems: readonly Problem[]
  constructor(problems: readonly Problem[]) {
    super(problems.map(renderProblem).join('\n'))
    this.problems = problems
  }
}
