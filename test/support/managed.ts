import { fork } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bareEnvironment, run, type Started, start } from './process.ts'
import { makeFolder, type Scope } from './scope.ts'

export const ADMIN_PASSWORD = 'the-password-of-admin'

const CONFIG = `[store]
url = sqlite:cardea.db
[chttpd]
port = 0
[server]
endpoint = tcp://127.0.0.1:0
[chttpd_auth]
iterations = 1
secret = a-secret-of-cookies
[admins]
admin = ${ADMIN_PASSWORD}
`

/** A folder with a configuration, and the commands that run there. */
export interface Managed {
  readonly folder: string
  /** Everything that processes of this folder printed, and all their arguments. */
  readonly traces: string[]
  /** `cardea …` with the configuration of this folder. */
  cardea(args: readonly string[], input?: string): Promise<CommandResult>
  serve(): Promise<Serving>
}

export interface CommandResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Serving extends Started {
  readonly document: string
  readonly multiModel: string
}

/** What a command host is sent. */
export interface HostedCommand {
  readonly args: readonly string[]
  readonly cwd: string
  readonly text?: string
}

type Run = (args: readonly string[], input?: string) => Promise<CommandResult>

/** Runs each command as a process of its own. */
const runProcesses =
  (scope: Scope, cwd: string): Run =>
  async (args, input) => {
    const { code, stdout, stderr } = await run(scope, args, { cwd, ...(input !== undefined && { input }) })
    return { code, stdout, stderr }
  }

/** Runs all commands in one process. */
function runHosted(scope: Scope, cwd: string): Run {
  const host = fork(join(import.meta.dirname, 'command-host.ts'), { env: bareEnvironment() })
  scope.after(() => host.kill())
  return async (args, text) => {
    host.send({ args, cwd, ...(text !== undefined && { text }) } satisfies HostedCommand)
    const [result] = await once(host, 'message')
    return result
  }
}

/**
 * A folder with a configuration: cheap hashes, free ports, one administrator. `hosted`: the commands share one process,
 * for long tables.
 */
export function makeManaged(scope: Scope, config = CONFIG, how?: 'hosted'): Managed {
  const folder = makeFolder(scope)
  writeFileSync(join(folder, 'local.ini'), config, { mode: 0o600 })
  const traces: string[] = []
  const runCommand = how === 'hosted' ? runHosted(scope, folder) : runProcesses(scope, folder)
  return {
    folder,
    traces,
    async cardea(args, input) {
      const words = [...args, '--config', folder]
      const result = await runCommand(words, input)
      traces.push(words.join(' '), result.stdout, result.stderr)
      return result
    },
    async serve() {
      const server = start(scope, ['serve', '--config', folder, '--log.level', 'debug'], { cwd: folder })
      void server.ended.then(() => traces.push(server.stdout(), server.stderr()))
      return { ...server, ...(await server.doors()) }
    },
  }
}
