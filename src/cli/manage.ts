// Shared by the commands that manage users, administrators and settings.
import { type Command, InvalidArgumentError } from 'commander'
import type { Control } from './client.ts'
import { type Context, ExitError } from './context.ts'
import { EXIT_CODES_HELP, exitCodeOfError } from './exit-codes.ts'
import type { RemoteOptions } from './remote.ts'

export interface ManageOptions extends RemoteOptions {
  readonly json?: boolean
}

export const withManageOptions = (command: Command): Command =>
  command
    .option('--json', 'print JSON')
    .option('--url <url>', 'a running server, as http://127.0.0.1:5984; unless given, it is found, or the store opened')
    .option('--as <name>', 'with --url: the administrator to sign in as (default: admin)')
    .option('--credentials <file>', 'with --url: a file that holds name:password; unless given, it is asked for')
    .option(...CA_OPTION)

/** For commands that connect to a server. */
export const CA_OPTION = [
  '--ca <file>',
  'trust these certificate authorities (PEM) instead of the public ones',
] as const

export const withExitCodes = (command: Command): Command => command.addHelpText('after', `\n${EXIT_CODES_HELP}`)

/** Messages for error codes that the command can explain better than the server. */
export type Explanations = ReadonlyMap<string, string>

const WRONG = 'Name or password is incorrect.'

/** With `--url` a name and password are always sent, so these errors mean that they are wrong. */
const SIGNING_IN: Explanations = new Map([
  ['authentication_required', WRONG],
  ['token_refused', WRONG],
])

interface ManageRules {
  readonly explanations?: Explanations
  /** Whether the command never opens the store itself. */
  readonly needsServer?: boolean
}

/** Opens a control, runs `work` and closes it. A rejected operation ends the command with its exit code. */
export async function manage<T>(
  context: Context,
  options: ManageOptions,
  work: (control: Control) => Promise<T>,
  { explanations = new Map(), needsServer = false }: ManageRules = {},
): Promise<T> {
  const { ControlFailure, openControl, openServer } = await import('./client.ts')
  const end = (exitCode: number, error: string, reason: string): ExitError =>
    new ExitError(exitCode, options.json ? JSON.stringify({ error, reason }) : reason)
  try {
    const control = await (needsServer ? openServer : openControl)(context, options)
    return await work(control).finally(() => control.close())
  } catch (error) {
    if (error instanceof ExitError) throw end(error.exitCode, 'failed', error.message)
    if (!(error instanceof ControlFailure)) throw error
    const explained =
      explanations.get(error.code) ?? (options.url === undefined ? undefined : SIGNING_IN.get(error.code))
    throw end(exitCodeOfError(error.code), error.code, explained ?? error.message)
  }
}

/** Prints the result as JSON with `--json`, otherwise as text. */
export function report(context: Context, { json }: ManageOptions, value: unknown, text: () => string): void {
  context.print(json ? JSON.stringify(value, undefined, 2) : text())
}

/** Parses a name. */
export function readName(text: string): string {
  if (text === '') throw new InvalidArgumentError('It must not be empty.')
  return text
}

/** Parses the greatest number of rows. */
export function readLimit(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('A whole number from 1 on.')
  return Number(text)
}

/** For flags that may be repeated. */
export const collect = (value: string, before: readonly string[] | undefined): readonly string[] => [
  ...(before ?? []),
  value,
]
