import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type CommandResult, runCommand } from './commands.ts'
import { endHosted, startHosted } from './hosted-server.ts'
import type { Started } from './process.ts'
import { makeFolder, type Scope } from './scope.ts'

export const ADMIN_PASSWORD = 'the-password-of-admin'

export const CONFIG = `[store]
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

export interface Serving extends Started {
  readonly document: string
  readonly multiModel: string
}

/** A folder with a configuration: cheap hashes, free ports, one administrator. */
export function makeManaged(scope: Scope, config = CONFIG): Managed {
  const servers: Started[] = []
  // before its folder is removed
  scope.after(() => Promise.all(servers.map(endHosted)))
  const folder = makeFolder(scope)
  writeFileSync(join(folder, 'local.ini'), config, { mode: 0o600 })
  const traces: string[] = []
  return {
    folder,
    traces,
    async cardea(args, input) {
      const words = [...args, '--config', folder]
      const result = await runCommand(words, { cwd: folder, ...(input !== undefined && { input }) })
      traces.push(words.join(' '), result.stdout, result.stderr)
      return result
    },
    async serve() {
      const server = startHosted(['serve', '--config', folder, '--log.level', 'debug'], folder)
      servers.push(server)
      void server.ended.then(() => traces.push(server.stdout(), server.stderr()))
      return { ...server, ...(await server.doors()) }
    },
  }
}
