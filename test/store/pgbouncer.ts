/** PgBouncer before a server of a test, where it is installed (Debian: `apt-get install pgbouncer`). */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import type { Scope } from '../support/scope.ts'
import { limitStep } from '../support/wait.ts'
import { sharePostgresBinaries } from './postgres-binaries.ts'
import { findFreePort } from './postgres-server.ts'

const FOLDERS = ['/usr/sbin', ...(process.env['PATH'] ?? '').split(delimiter)]

export const PGBOUNCER = FOLDERS.map((folder) => join(folder, 'pgbouncer')).find((file) => existsSync(file))

/** Returns the same URL with the address of the pooler. */
export async function startPgBouncer(scope: Scope, url: string, mode: 'session' | 'transaction'): Promise<string> {
  const { hostname, port: serverPort, username, password } = new URL(url)
  const folder = mkdtempSync(join(tmpdir(), 'cardea-pgbouncer-'))
  scope.after(() => rmSync(folder, { recursive: true, force: true }))
  const port = await findFreePort()
  const file = join(folder, 'pgbouncer.ini')
  const server = `host=${hostname} port=${serverPort} user=${username} password=${password}`
  writeFileSync(
    file,
    `[databases]\n* = ${server}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${port}\nauth_type = any
pool_mode = ${mode}\nunix_socket_dir =\ndefault_pool_size = 20\n`,
  )
  // it refuses to run as root, as PostgreSQL does
  const { owner, handOver } = sharePostgresBinaries()
  for (const path of [folder, file]) handOver(path)
  const child = spawn(PGBOUNCER ?? '', [file], { ...owner, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = once(child, 'exit')
  scope.after(async () => {
    child.kill('SIGKILL')
    await ended
  })
  let output = ''
  const isUp = new Promise<void>((resolve) =>
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output += text
      if (output.includes('process up')) resolve()
    }),
  )
  const failed = ended.then(() => Promise.reject(new Error(`PgBouncer ended: ${output}`)))
  failed.catch(() => {})
  await limitStep('the start of PgBouncer', Promise.race([isUp, failed]))
  return url.replace(/@[^/]+/, `@127.0.0.1:${port}`)
}
