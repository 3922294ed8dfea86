/**
 * Runs test files with `node --test`. Loading Cardea and compiling it takes most of the time of a short test file, so as
 * few processes as keep all cores busy run all of them (`test-process.ts`).
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { findDistances, readImportGraph } from './import-graph.ts'
import { type Ended, readCpuSeconds, readEnded, urlOf } from './test-process.ts'

/** Files that share a process with no other, and why. */
const ALONE: Readonly<Record<string, string>> = {
  'test/client/pouchdb.test.ts': 'PouchDB keeps the databases of its server for the whole process',
  'test/scenario/gateway/pouchdb.test.ts': 'PouchDB keeps the databases of its server for the whole process',
  'test/store/open.test.ts': 'expects that the driver of PostgreSQL is not loaded',
}

/** Files that wait most of their time, for a timeout, a process or a database. One more process begins with them. */
const WAITING: ReadonlySet<string> = new Set([
  'test/http/claimed-version.test.ts',
  'test/http/hostile.test.ts',
  'test/http/slow-clients.test.ts',
  'test/process/surfaces.test.ts',
  'test/process/upstream.test.ts',
  'test/process/worker-life.test.ts',
  'test/scenario/failover-load.test.ts',
  'test/scenario/gateway/faults.test.ts',
  'test/scenario/gateway/reload.test.ts',
  'test/scenario/mail.test.ts',
  'test/scenario/postgres-faults.test.ts',
  'test/scenario/providers.test.ts',
])

/** Folders whose tests take long start first, in this order. */
const LONG: readonly string[] = [
  'test/docs',
  'test/scripts',
  'test/package',
  'test/process',
  'test/process/cli',
  'test/console',
  'test/store',
]
// The default leaves one core idle: on two cores it runs one file at a time. Half of the time that files take they wait
// for a timeout, a process or a browser: two processes for each core use both cores until the end.
const PROCESSES = Number(process.env['TEST_PROCESSES'] ?? 2 * availableParallelism())
const MAX_RUN_MS = 60 * 60 * 1000
/** Files that `--times` shows. */
const SHOWN = 30

const orderOf = (file: string): number => {
  const index = LONG.indexOf(dirname(file))
  return index === -1 ? Number.POSITIVE_INFINITY : index
}

const byFolder = (a: string, b: string): number =>
  orderOf(a) === orderOf(b) ? (a < b ? -1 : 1) : orderOf(a) - orderOf(b)

/** The source of a process that takes any of these files. */
export const renderProcess = (folder: string, files: readonly string[]): string =>
  `import { runQueue } from '${urlOf('scripts/test-process.ts')}'
await runQueue(${JSON.stringify(folder)}, ${JSON.stringify(files)})
`

/** The runner sorts by path: processes start in the order of their numbers. */
function writeProcesses(folder: string, files: readonly string[]): string[] {
  const shared = files.filter((file) => !(file in ALONE)).toSorted(byFolder)
  const alone = files.filter((file) => file in ALONE).map((file) => [file])
  const waiting = shared.filter((file) => WAITING.has(file))
  const busyFirst = [...shared.filter((file) => !WAITING.has(file)), ...waiting]
  const busy = Array.from({ length: Math.min(PROCESSES, shared.length) }, () => busyFirst)
  const groups = [...(waiting.length > 0 ? [waiting] : []), ...busy, ...alone]
  return groups.map((group, index) => {
    const path = join(folder, `${String(index).padStart(3, '0')}.mjs`)
    writeFileSync(path, renderProcess(folder, group))
    return path
  })
}

/** What files of a run can share takes seconds to start, so only what they use is started. */
async function findSetup(files: readonly string[]) {
  const graph = readImportGraph('test')
  const using = (module: string) => files.filter((file) => findDistances(graph, file).has(module)).length
  const needsSetup = using('test/store/postgres-server.ts') + using('test/support/console.ts') > 0
  const needsProgram = using('test/support/process.ts') > 0
  const program = needsProgram ? { TEST_PROGRAM: await (await import('./test-bundle.ts')).bundleProgram() } : {}
  return {
    args: needsSetup ? ['--test-global-setup=test/support/global-setup.ts'] : [],
    env: { ...program, ...(using('test/support/chromium.ts') > 1 && { TEST_SHARES_BROWSER: '1' }) },
  }
}

/** Where less is free, it is left to other programs. */
const MEMORY_BYTES = 4 * 2 ** 30

/**
 * Where tests keep their files: in memory where there is room, because every change of a store waits for the disk.
 * `sqlite`, `backup` and `upgrade` of `test/store` took 30 s of a processor there instead of 36, and two thirds of the
 * time.
 */
function findTemporary(): string {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm')
    return process.env['TMPDIR'] === undefined && bavail * bsize >= MEMORY_BYTES ? '/dev/shm' : tmpdir()
  } catch {
    return tmpdir() // not on Linux
  }
}

/** Resolves with the exit code. `given` are options of `node --test`, and `--times`. */
export async function runFiles(files: readonly string[], given: readonly string[]): Promise<number> {
  const folder = mkdtempSync(join(findTemporary(), 'cardea-test-run-'))
  const { args, env } = await findSetup(files)
  const options = given.filter((option) => option !== '--times')
  // Compiled sources are kept for the next process. Coverage needs them whole.
  const isCounting = options.includes('--experimental-test-coverage')
  const cache = isCounting ? {} : { NODE_COMPILE_CACHE: resolve('node_modules/.cache/compiled') }
  const runner = ['--test', '--test-reporter=spec', `--test-concurrency=${PROCESSES + 1}`, ...args, ...options]
  const child = spawn(process.execPath, [...runner, ...writeProcesses(folder, files)], {
    stdio: 'inherit',
    env: { ...process.env, TMPDIR: dirname(folder), ...env, ...cache },
    // A synchronous loop in a test has no other limit. The runner then names the files that were running.
    timeout: MAX_RUN_MS,
  })
  const [code] = await once(child, 'exit')
  const ended = readEnded(folder)
  rmSync(folder, { recursive: true })
  const unfinished = files.filter((file) => !ended.some((each) => each.file === file))
  if (unfinished.length > 0) console.log(`did not run to their end: ${unfinished.join(' ')}`)
  if (given.includes('--times')) console.log(renderTimes(ended, readCpuSeconds()))
  return unfinished.length > 0 ? 1 : (code ?? 1)
}

const folderOf = (file: string): string => file.split('/').slice(0, 2).join('/')

const renderRow = ({ file, cpu, elapsed }: Ended): string =>
  `${cpu.toFixed(1).padStart(7)} ${elapsed.toFixed(1).padStart(7)}  ${file}`

/** `cpu` is of the whole run, with what files share (PostgreSQL, the browser) and the runner. */
function renderTimes(files: readonly Ended[], cpu: number): string {
  const sums = [...Map.groupBy(files, ({ file }) => folderOf(file))].map(([folder, members]) => ({
    file: `${folder} (${members.length} files)`,
    cpu: members.reduce((sum, each) => sum + each.cpu, 0),
    elapsed: members.reduce((sum, each) => sum + each.elapsed, 0),
  }))
  const byCost = (a: Ended, b: Ended) => b.cpu - a.cpu
  const rows = [...sums.toSorted(byCost), { file: 'all', cpu, elapsed: performance.now() / 1000 }]
  return [' of CPU elapsed  seconds', ...rows.map(renderRow), '']
    .concat(files.toSorted(byCost).slice(0, SHOWN).map(renderRow))
    .join('\n')
}
