// Shared by the commands that manage users, administrators and settings.
import { type Command, InvalidArgumentError } from 'commander'
import type { OperationResult } from '../dialects/admin-api/operations.ts'
import type { Control, Query } from './client.ts'
import { type Context, ExitError, exitCodeOfError } from './context.ts'
import { printJson } from './json-output.ts'
import type { RemoteOptions } from './remote.ts'

export interface ManageOptions extends RemoteOptions {
  readonly json?: boolean
}

export type JsonOption = Pick<ManageOptions, 'json'>

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

const WRONG = 'Name or password is incorrect.'

/** With `--url` a name and password are always sent, so these errors mean that they are wrong. */
const SIGNING_IN = [
  ['authentication_required', WRONG],
  ['token_refused', WRONG],
] as const

/** A command of a group, with the options of `withManageOptions`. */
export const addManaged = (parent: Command, name: string, description: string): Command =>
  withManageOptions(parent.command(name).description(description))

interface ManageRules {
  /** Messages for error codes that the command can explain better than the server. */
  readonly explanations?: readonly (readonly [code: string, message: string])[] | undefined
  /** Whether the command never opens the store itself. */
  readonly needsServer?: boolean
}

/** Opens a control, runs `work` and closes it. A rejected operation ends the command with its exit code. */
export async function manage<T>(
  context: Context,
  options: ManageOptions,
  work: (control: Control) => Promise<T>,
  { explanations = [], needsServer = false }: ManageRules = {},
): Promise<T> {
  const { ControlFailure, openControl, openRunning } = await import('./client.ts')
  const end = (exitCode: number, error: string, reason: string): ExitError =>
    new ExitError(exitCode, options.json ? JSON.stringify({ error, reason }) : reason)
  try {
    const control = await (needsServer ? openRunning : openControl)(context, options)
    return await work(control).finally(() => control.close())
  } catch (error) {
    if (error instanceof ExitError) throw end(error.exitCode, 'failed', error.message)
    if (!(error instanceof ControlFailure)) throw error
    const known = new Map([...(options.url === undefined ? [] : SIGNING_IN), ...explanations])
    throw end(exitCodeOfError(error.code), error.code, known.get(error.code) ?? error.message)
  }
}

export interface PerformRules<T> extends ManageRules {
  render(result: T): string
  /** For standard error, unless JSON is printed. */
  note?(result: T): string
}

/** Runs the operation and prints the result: as JSON with `--json`, otherwise as `render` says. */
export async function perform<T>(
  context: Context,
  options: ManageOptions,
  work: (control: Control) => Promise<T>,
  { render, note, ...rules }: PerformRules<T>,
): Promise<void> {
  const result = await manage(context, options, work, rules)
  report(context, options, result, () => render(result))
  if (note && !options.json) context.printError(note(result))
}

/** Prints the result as JSON with `--json`, otherwise as text. */
export function report(context: Context, { json }: ManageOptions, value: unknown, text: () => string): void {
  if (json) printJson(context, value)
  else context.print(text())
}

type PagedOperation = 'user.list' | 'audit.list' | 'transfer.export'

/** All pages of a list. `toQuery` is called for each of them. */
export async function* listPages<N extends PagedOperation>(
  control: Control,
  operation: N,
  toQuery: () => Query,
): AsyncGenerator<OperationResult<N>> {
  let after: string | undefined
  do {
    const page = await control.call(operation, { query: { ...toQuery(), after } })
    yield page
    after = page.next
  } while (after !== undefined)
}

/** Parses a name. */
export function parseName(text: string): string {
  if (text === '') throw new InvalidArgumentError('It must not be empty.')
  return text
}

/** Parses the greatest number of rows. */
export function readLimit(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('A whole number from 1 on.')
  return Number(text)
}

const UNIT_SECONDS = { '': 1, s: 1, m: 60, h: 3600, d: 86_400 }

/** The seconds of a duration such as 90s, 15m, 1h or 30d; `undefined`: the text is none. */
export function readDuration(text: string): number | undefined {
  const [, digits, unit = ''] = /^(\d{1,9})([smhd]?)$/.exec(text) ?? []
  // the expression has no other unit
  return digits === undefined ? undefined : Number(digits) * UNIT_SECONDS[unit as keyof typeof UNIT_SECONDS]
}

/** For flags that may be repeated. */
export const collect = (value: string, before: readonly string[] | undefined): readonly string[] => [
  ...(before ?? []),
  value,
]
