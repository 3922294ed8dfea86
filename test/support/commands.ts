/**
 * Runs commands of Cardea without a process for each. Loading the program takes most of the time of a command, so a
 * table of a hundred commands takes seconds instead of minutes. Commands at the same time still have a process each.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bareEnvironment } from './process.ts'
import type { Scope } from './scope.ts'

export interface CommandResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface CommandOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  /** Standard input; empty unless given. */
  readonly input?: string
}

/** What a command host is sent. */
export interface HostedCommand {
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly text?: string
  /** To be written after what the command logged: the log does not pass through `process.stderr`. */
  readonly endOfLog: string
}

const END_OF_LOG = '\0'

const idle: ChildProcess[] = []

type RunCommand = (args: readonly string[], options?: CommandOptions) => Promise<CommandResult>

/** Runs `cardea …` to its end. For what only a process of its own can show, use `run` of process.ts. */
export const runCommand: RunCommand = async (args, options) => {
  const host = idle.pop() ?? startHost(bareEnvironment())
  const result = await runAt(host, args, options)
  idle.push(host)
  return result
}

/** Runs commands in a process of the scope, which has sources and environment of its own. One at a time. */
export function openCommands(scope: Scope, env: Readonly<Record<string, string>>): RunCommand {
  const { TEST_PROGRAM: _bundled, ...bare } = bareEnvironment()
  const host = startHost({ ...bare, ...env })
  scope.after(() => host.kill('SIGKILL'))
  return (args, options) => runAt(host, args, options)
}

async function runAt(
  host: ChildProcess,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  const { cwd = tmpdir(), env, input } = options
  host.channel?.ref()
  const logged = collectLog(host)
  host.send({
    ...{ args, cwd, env: { ...bareEnvironment(), ...env }, endOfLog: END_OF_LOG },
    ...(input !== undefined && { text: input }),
  } satisfies HostedCommand)
  const [result]: CommandResult[] = await once(host, 'message')
  const log = await logged
  host.channel?.unref()
  if (!result) throw new Error('a host sent nothing')
  return { ...result, stderr: log + result.stderr }
}

/** An idle host does not keep this process alive, and ends with it: all test files of a process use the same hosts. */
function startHost(env: Readonly<Record<string, string>>): ChildProcess {
  const stdio = ['ignore', 'ignore', 'pipe', 'ipc'] as const
  const host = fork(join(import.meta.dirname, 'command-host.ts'), { env, stdio: [...stdio] })
  host.stderr?.setEncoding('utf8')
  if (host.stderr instanceof Socket) host.stderr.unref()
  host.unref()
  return host
}

/** What the host logs until the command has ended. */
function collectLog({ stderr }: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    const collect = (chunk: string) => {
      text += chunk
      if (!text.endsWith(END_OF_LOG)) return
      stderr?.off('data', collect)
      resolve(text.slice(0, -END_OF_LOG.length))
    }
    stderr?.on('data', collect)
  })
}
