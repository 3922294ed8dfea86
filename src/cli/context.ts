import type { Flags } from '../config/flags.ts'
import type { Signals } from './signals.ts'

/** What a command gets in addition to its arguments. */
export interface Context {
  /** Options of the configuration found on the command line. */
  readonly flags: Flags
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  /** Handled since the process started, for a command that serves. */
  readonly signals?: Signals | undefined
  print(text: string): void
  printError(text: string): void
}

/** Ends a command with this exit code and a message on standard error. */
export class ExitError extends Error {
  override readonly name = 'ExitError'
  readonly exitCode: number
  constructor(exitCode: number, message: string) {
    super(message)
    this.exitCode = exitCode
  }
}
