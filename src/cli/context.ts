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

/** Ends a command with this exit code and a message on standard error; none if it is empty. */
export class ExitError extends Error {
  override readonly name = 'ExitError'
  readonly exitCode: number
  constructor(exitCode: number, message: string) {
    super(message)
    this.exitCode = exitCode
  }
}

/** Exit codes, the same with and without a running server. */
export const EXIT = Object.freeze({
  failed: 1,
  usage: 2,
  unknownOption: 3,
  badValue: 4,
  notFound: 5,
  badFile: 6,
  conflict: 7,
})

export const usageError = (message: string): ExitError => new ExitError(EXIT.usage, message)

/** For a failure without an exit code of its own. */
export const commandError = (message: string): ExitError => new ExitError(EXIT.failed, message)

const BY_CODE: ReadonlyMap<string, number> = new Map([
  ['not_found', EXIT.notFound],
  ['option_not_found', EXIT.notFound],
  ['conflict', EXIT.conflict],
  ['option_unknown', EXIT.unknownOption],
  ['option_refused', EXIT.badValue],
])

/** The exit code of an error of the admin API. */
export const exitCodeOfError = (code: string): number => BY_CODE.get(code) ?? EXIT.failed

export const EXIT_CODES_HELP = `Exit codes:
  0  success
  1  other error
  2  invalid usage
  3  an unknown option of the configuration
  4  an invalid value of an option
  5  not found: no such user, administrator or setting
  6  an invalid configuration file
  7  conflict: the name is taken, or another process changed it meanwhile`
