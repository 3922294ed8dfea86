// Secrets enter here: from a terminal, where nothing of them is shown, or from standard input. Never from an argument,
// which every user of the machine can read.
import type { Readable, Writable } from 'node:stream'
import { readUtf8 } from '../base/encoding.ts'
import { gatherBytes } from '../base/gather-bytes.ts'
import { commandError, usageError } from './context.ts'

export interface Terminal {
  readonly input: Readable & { readonly isTTY?: boolean }
  /** Standard error, so that standard output holds the result alone. */
  readonly output: Writable
}

const TERMINAL: Terminal = { input: process.stdin, output: process.stderr }

export interface SecretOptions {
  /** What the prompt asks for, as `Password of ann`. */
  readonly what: string
  /** Read from standard input instead of a prompt. */
  readonly fromInput: boolean
  /** The flag that does so, for the error without a terminal. */
  readonly flag: string
  /** Prompted for twice, because the input is not shown. */
  readonly isNew: boolean
}

export async function readTypedSecret(options: SecretOptions, terminal: Terminal = TERMINAL): Promise<string> {
  if (options.fromInput) return readInput(terminal.input, options.what)
  if (!terminal.input.isTTY) throw usageError(`Cannot prompt: standard input is not a terminal. Use ${options.flag}.`)
  const secret = await ask(options.what, terminal)
  if (options.isNew && (await ask(`${options.what}, again`, terminal)) !== secret) {
    throw commandError('The two passwords differ: nothing was changed.')
  }
  return secret
}

/** A password that is about to be set. */
export const readNewPassword = (
  what: string,
  { passwordStdin = false }: { readonly passwordStdin?: boolean },
): Promise<string> => readTypedSecret({ what, fromInput: passwordStdin, flag: '--password-stdin', isNew: true })

/** The option of commands that set a password. */
export const PASSWORD_STDIN = [
  '--password-stdin',
  'read the password from standard input instead of asking for it',
] as const

async function ask(message: string, { input, output }: Terminal): Promise<string> {
  const { isCancel, password } = await import('@clack/prompts')
  const ending = watchEnd(input)
  const answer = await password({
    message,
    // hides the length too
    mask: '',
    input,
    output,
    validate: (value) => (value ? undefined : 'It must not be empty.'),
    signal: ending.signal,
  }).finally(ending.stop)
  if (isCancel(answer)) throw commandError('Given up: nothing was changed.')
  return answer
}

/** Ctrl-D or a closed terminal: the prompt itself would wait forever. */
function watchEnd(input: Readable) {
  const controller = new AbortController()
  const end = () => controller.abort()
  const onKey = (_text: unknown, key?: { readonly ctrl?: boolean; readonly name?: string }) => {
    if (key?.ctrl && key.name === 'd') end()
  }
  input.on('keypress', onKey).on('end', end).on('close', end)
  return {
    signal: controller.signal,
    stop: () => void input.off('keypress', onKey).off('end', end).off('close', end),
  }
}

const MAX_BYTES = 65_536

/** All of standard input without the last line end. */
async function readInput(input: Readable, what: string): Promise<string> {
  const bytes = await gatherBytes(input, MAX_BYTES)
  if (!bytes) throw commandError(`${what}: standard input holds more than ${MAX_BYTES} bytes.`)
  const secret = readUtf8(bytes)?.replace(/\r?\n$/, '')
  if (secret === undefined) throw commandError(`${what}: standard input is not UTF-8.`)
  if (secret === '') throw commandError(`${what}: standard input is empty.`)
  return secret
}
