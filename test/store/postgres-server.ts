/**
 * A real PostgreSQL: data in a temporary folder, a free port of 127.0.0.1, removed when stopped. `connectPostgres` is
 * for tests that only need a store: they share one server. `startPostgres` is for tests that kill it.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { limitStep, waitUntil } from '../support/wait.ts'
import { type PostgresBinaries, sharePostgresBinaries } from './postgres-binaries.ts'

const runFile = promisify(execFile)

export interface Postgres {
  /** The URL of a new, empty schema: as isolated as a database, and created twenty times faster. */
  createPlace(): Promise<string>
  /** Runs SQL at that address. */
  execute(url: string, sql: string): Promise<Record<string, unknown>[]>
  stop(): Promise<void>
}

export interface PostgresServer extends Postgres {
  /** The address of a database that is there. */
  addressOf(database: string): string
  /** Kills the server and all its processes at once, as a power cut would; then starts it on the same data. */
  crash(): Promise<void>
  restart(): Promise<void>
  /** Until the returned function is called, the server accepts connections and responds to nothing. */
  freeze(): () => void
  /** Another server that follows this one, which restarts meanwhile. Of a server that can have standbys. */
  startStandby(): Promise<Standby>
}

export interface Standby extends Pick<PostgresServer, 'addressOf' | 'execute' | 'stop'> {
  /** From now on it gets no more writes of the primary. */
  detach(): Promise<void>
  /** Makes it a primary, with the writes that it has. */
  promote(): Promise<void>
}

export interface PostgresServerOptions {
  /** Without it the server does not sync to disk, which is faster. */
  readonly isDurable?: boolean
  /** Whether it can have standbys. */
  readonly hasStandbys?: boolean
  /** 100 unless given. */
  readonly maxConnections?: number
  /** Whether it is no copy of the others, which all begin with the same data. */
  readonly isOwnSystem?: boolean
}

const USER = 'cardea'

/**
 * A new place with its tables takes 0.10 s of a processor instead of 0.14. A commit still waits until it is written, so
 * that a killed server loses none.
 */
const FAST = [
  'fsync=off',
  'full_page_writes=off',
  'wal_level=minimal',
  'max_wal_senders=0',
  'autovacuum=off',
  'jit=off',
]

/** The last value of a setting counts. */
const REPLICATED = ['wal_level=replica', 'max_wal_senders=4']

/** Set by global-setup.ts: the address of the server that all test files of one run share. */
export const SHARED_POSTGRES = 'TEST_POSTGRES'

/** The server of this run, or a new one if the file runs alone. */
export async function connectPostgres(): Promise<Postgres> {
  const url = process.env[SHARED_POSTGRES]
  if (url === undefined) return startPostgres()
  return { createPlace: () => createPlace(url), execute, stop: async () => {} }
}

/** `url` is the address of a database. Test files make places side by side: the name is random. */
async function createPlace(url: string): Promise<string> {
  const name = `place_${randomBytes(8).toString('hex')}`
  await execute(url, `CREATE SCHEMA ${name}`)
  return `${url}?options=-c%20search_path%3D${name}`
}

export async function startPostgres(options: PostgresServerOptions = {}): Promise<PostgresServer> {
  const server = await createServerFiles(options)
  let running = await run(server).catch((error: unknown) => {
    server.remove()
    throw error
  })
  const addressOf = toAddress(server)
  return {
    addressOf,
    createPlace: () => createPlace(addressOf('postgres')),
    execute,
    crash: () => killAll(server.folder),
    async restart() {
      running = await startAgain(server)
    },
    freeze() {
      const family = listFamily(server.folder)
      for (const pid of family) signal(pid, 'SIGSTOP')
      return () => {
        for (const pid of family) signal(pid, 'SIGCONT')
      }
    },
    async startStandby() {
      await end(running)
      const files = await copyServer(server)
      running = await startAgain(server)
      return runStandby(files)
    },
    async stop() {
      await end(running)
      server.remove()
    },
  }
}

const toAddress =
  ({ port, password }: ServerFiles) =>
  (database: string): string =>
    `postgres://${USER}:${password}@127.0.0.1:${port}/${database}`

/** The files of a standby: those of the stopped primary, and where to follow it. */
async function copyServer({ folder: from, ...primary }: ServerFiles): Promise<ServerFiles> {
  const folder = mkdtempSync(join(tmpdir(), 'cardea-postgres-standby-'))
  const { binaries, port, password, settings } = primary
  binaries.handOver(folder)
  await runFile('cp', ['-a', join(from, 'data'), folder])
  for (const [name, text] of [
    ['standby.signal', ''],
    ['postgresql.auto.conf', `primary_conninfo = 'host=127.0.0.1 port=${port} user=${USER} password=${password}'\n`],
  ] as const) {
    const file = join(folder, 'data', name)
    writeFileSync(file, text, { mode: 0o600 })
    binaries.handOver(file)
  }
  const remove = () => rmSync(folder, { recursive: true, force: true })
  return { folder, binaries, port: await findFreePort(), password, settings, remove }
}

async function runStandby(server: ServerFiles): Promise<Standby> {
  const running = await run(server)
  const addressOf = toAddress(server)
  const ask = (sql: string) => execute(addressOf('postgres'), sql)
  return {
    addressOf,
    execute,
    async detach() {
      await ask(`ALTER SYSTEM SET primary_conninfo = ''`)
      await ask('SELECT pg_reload_conf()')
      await waitUntil(async () => (await ask('SELECT pid FROM pg_stat_wal_receiver')).length === 0)
    },
    promote: async () => void (await ask('SELECT pg_promote()')),
    async stop() {
      await end(running)
      server.remove()
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

/** The data folder and the command line of a server. */
interface ServerFiles {
  readonly folder: string
  readonly binaries: PostgresBinaries
  readonly port: number
  readonly password: string
  readonly settings: readonly string[]
  remove(): void
}

async function createServerFiles({
  isDurable,
  hasStandbys,
  maxConnections = 100,
  isOwnSystem,
}: PostgresServerOptions): Promise<ServerFiles> {
  const binaries = sharePostgresBinaries()
  const cluster = isOwnSystem ? await makeCluster(binaries) : await shareCluster(binaries)
  const folder = mkdtempSync(join(tmpdir(), 'cardea-postgres-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  try {
    binaries.handOver(folder)
    // keeps the owner, without whom the server does not start
    await runFile('cp', ['-a', join(cluster, 'data'), folder])
  } catch (error) {
    remove()
    throw error
  }
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', `max_connections=${maxConnections}`]
  if (!isDurable) settings.push(...FAST)
  if (hasStandbys) settings.push(...REPLICATED)
  const password = readFileSync(join(cluster, 'password'), 'utf8')
  return { folder, binaries, port: await findFreePort(), password, settings, remove }
}

/** Set by the first process of a run that starts a server: the folder with the data that all its servers begin with. */
export const SHARED_CLUSTER = 'TEST_POSTGRES_CLUSTER'

/** A copy takes a tenth of the time of `initdb`. */
async function shareCluster(binaries: PostgresBinaries): Promise<string> {
  const folder = process.env[SHARED_CLUSTER] ?? (await makeCluster(binaries))
  process.env[SHARED_CLUSTER] = folder
  return folder
}

/** Removed when the process that made it ends. */
async function makeCluster(binaries: PostgresBinaries): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'cardea-postgres-cluster-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  binaries.handOver(folder)
  await createCluster(binaries, folder, randomBytes(12).toString('hex'))
  return folder
}

async function createCluster(binaries: PostgresBinaries, folder: string, password: string): Promise<void> {
  const passwordFile = join(folder, 'password')
  writeFileSync(passwordFile, password, { mode: 0o600 })
  binaries.handOver(passwordFile)
  // a locale that does not sort by bytes, as most databases have
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=icu', '--icu-locale=en']
  const account = [`--username=${USER}`, '--auth=password', `--pwfile=${passwordFile}`]
  const args = [`--pgdata=${join(folder, 'data')}`, ...account, ...locale, '--no-sync']
  const child = spawn(binaries.initdb, args, { ...binaries.owner, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = Promise.all([readAll(child.stderr), findStatus(child)])
  const [output, status] = await limitStep('initdb', ended).finally(() => child.kill('SIGKILL'))
  if (status !== 0) throw new Error(`initdb failed with status ${status}: ${output}`)
}

/** Rejects when the program cannot be started at all. */
async function findStatus(child: ChildProcess): Promise<number | null> {
  await once(child, 'close')
  return child.exitCode
}

async function readAll(stream: Readable): Promise<string> {
  let output = ''
  for await (const chunk of stream.setEncoding('utf8')) output += chunk
  return output
}

/** Starts the server and waits until it accepts connections. */
async function run(server: ServerFiles): Promise<ChildProcess> {
  const { folder, binaries, port, settings } = server
  const args = ['-D', join(folder, 'data'), '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])]
  const child = spawn(binaries.postgres, args, { ...binaries.owner, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  const kill = () => child.kill('SIGQUIT')
  process.once('exit', kill)
  child.once('exit', () => process.removeListener('exit', kill))
  await limitStep('the start of PostgreSQL', waitUntilReady(child)).catch((error: unknown) => {
    kill()
    throw error
  })
  return child
}

/** Reads on after that: a full pipe would block the server. */
function waitUntilReady(child: ChildProcess): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let output = ''
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    output = `${output}${chunk}`.slice(-10_000)
    if (/ready to accept (?:read-only )?connections/.test(output)) resolve()
  })
  child.once('error', reject)
  child.once('close', (status) => reject(new Error(`PostgreSQL ended with status ${status}: ${output}`)))
  return promise
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGINT')
  await once(child, 'exit')
}

/** Below the ports that the system gives to other programs as soon as they are free (Linux: from 32768 on). */
const PORTS = { first: 10_000, count: 20_000 }

/** A port that is free now, and that no other program is likely to take before it is used. */
export async function findFreePort(): Promise<number> {
  for (let attempts = 0; attempts < 100; attempts += 1) {
    const port = PORTS.first + randomInt(PORTS.count)
    if (await isFree(port)) return port
  }
  throw new Error('no port is free')
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}

async function killAll(folder: string): Promise<void> {
  const family = listFamily(folder)
  for (const pid of family) signal(pid, 'SIGKILL')
  await waitUntil(() => !family.some(isRunning))
}

/** All processes of a server. */
function listFamily(folder: string): readonly number[] {
  const postmaster = Number(readFileSync(join(folder, 'data', 'postmaster.pid'), 'utf8').split('\n')[0])
  return [postmaster, ...childrenOf(postmaster)]
}

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name)
  } catch {
    // it ended by itself meanwhile
  }
}

/** A dead process whose parent has not waited for it still has an entry, but no memory. */
function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

async function startAgain(server: ServerFiles): Promise<ChildProcess> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run(server)
    } catch (error) {
      // the last processes of the killed server may still hold its memory
      if (attempt >= 50) throw error
      await pause(100)
    }
  }
}
