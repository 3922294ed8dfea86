/**
 * Runs test files with `node --test`. Loading Cardea and compiling it takes most of the time of a short test file, so
 * as few processes as keep all cores busy run all of them: a group. Each file is a suite of its group, loaded when the
 * one before has ended. A process that is idle takes the next file, so that none has a long group left at the end.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { findDistances, readImportGraph } from './import-graph.ts'
import { listTakenBy, listUnfinished } from './test-queue.ts'
import { readCpuSeconds, renderTimes } from './test-times.ts'

/** Files that share a process with no other, and why. */
const ALONE: Readonly<Record<string, string>> = {
  'test/client/pouchdb.test.ts': 'PouchDB keeps the databases of its server for the whole process',
  'test/scenario/gateway/pouchdb.test.ts': 'the same',
  'test/store/open.test.ts': 'expects that the driver of PostgreSQL is not loaded',
}

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
// for a timeout, a process or a browser: two groups for each core use both cores until the end.
const PROCESSES = 2 * availableParallelism()
const MAX_RUN_MS = 60 * 60 * 1000

const orderOf = (file: string): number => {
  const index = LONG.indexOf(dirname(file))
  return index === -1 ? Number.POSITIVE_INFINITY : index
}

const byFolder = (a: string, b: string): number =>
  orderOf(a) === orderOf(b) ? (a < b ? -1 : 1) : orderOf(a) - orderOf(b)

/** What each process may take: one file, or any of those that need not be alone. */
function formGroups(files: readonly string[]): string[][] {
  const [alone, others] = [files.filter((file) => file in ALONE), files.filter((file) => !(file in ALONE))]
  const sorted = others.toSorted(byFolder)
  const groups = Array.from({ length: Math.min(PROCESSES, sorted.length) }, () => sorted)
  return [...groups, ...alone.map((file) => [file])]
}

const urlOf = (file: string): string => pathToFileURL(resolve(file)).href

/** A process that runs those of the files that no other process of the run has taken. */
export const renderGroup = (
  files: readonly string[],
  { folder, times }: { readonly folder: string; readonly times: string },
): string => `import { fileURLToPath } from 'node:url'
import { endWithTests } from '${urlOf('test/support/end-with-tests.ts')}'
import { noteEnd, takeFiles } from '${urlOf('scripts/test-queue.ts')}'
import { createFileRunner } from '${urlOf('scripts/test-suites.ts')}'
import { createTimesRecorder } from '${urlOf('scripts/test-times.ts')}'
const urls = ${JSON.stringify(Object.fromEntries(files.map((file) => [file, urlOf(file)])))}
const taken = []
const recordTimes = createTimesRecorder('${times}')
const runFile = createFileRunner()
// the runner ends a process that waits for nothing, and would leave out the files that follow
const alive = setInterval(() => {}, 60_000)
for (const name of takeFiles('${folder}', Object.keys(urls), fileURLToPath(import.meta.url))) {
  taken.push(name)
  await runFile(name, urls[name])
  recordTimes(name)
  noteEnd('${folder}', name)
}
clearInterval(alive)
endWithTests(taken)
`

/** The runner sorts by path: groups start in the order of their numbers. */
const writeGroups = (folder: string, groups: readonly (readonly string[])[], times: string): string[] =>
  groups.map((files, index) => {
    const path = join(folder, `${String(index).padStart(3, '0')}.mjs`)
    writeFileSync(path, renderGroup(files, { folder, times }))
    return path
  })

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

/** Resolves with the exit code. `given` are options of `node --test`, and `--times`. */
export async function runFiles(files: readonly string[], given: readonly string[]): Promise<number> {
  const place = mkdtempSync(join(tmpdir(), 'cardea-test-groups-'))
  const run: Run = { place, options: given.filter((option) => option !== '--times'), setup: await findSetup(files) }
  const first = await runGroups(run, formGroups(files), PROCESSES)
  const code = first.failed.length === 0 ? first.code : await runAgain(run, first.failed)
  if (given.includes('--times')) console.log(renderTimes(timesOf(run), readCpuSeconds()))
  rmSync(place, { recursive: true })
  return code
}

interface Run {
  readonly place: string
  readonly options: readonly string[]
  readonly setup: Awaited<ReturnType<typeof findSetup>>
}

const timesOf = ({ place }: Run): string => join(place, 'times')

/** Resolves with the exit code, and the files in which a test failed. */
async function runGroups(run: Run, groups: readonly (readonly string[])[], processes: number) {
  const { place, options, setup } = run
  const folder = mkdtempSync(join(place, 'groups-'))
  const record = join(folder, 'failed')
  const reporters = ['--test-reporter=spec', '--test-reporter-destination=stdout']
  reporters.push(`--test-reporter=${urlOf('scripts/test-failures.ts')}`, `--test-reporter-destination=${record}`)
  const paths = writeGroups(folder, groups, timesOf(run))
  // Compiled sources are kept for the next process. Coverage needs them whole.
  const isCounting = options.includes('--experimental-test-coverage')
  const cache = isCounting ? {} : { NODE_COMPILE_CACHE: resolve('node_modules/.cache/compiled') }
  // A synchronous loop in a test has no other limit. The runner then names the files that were running.
  const runner = ['--test', `--test-concurrency=${processes}`, ...reporters, ...setup.args]
  const child = spawn(process.execPath, [...runner, ...options, ...paths], {
    stdio: 'inherit',
    env: { ...process.env, ...setup.env, ...cache },
    timeout: MAX_RUN_MS,
  })
  const [code] = await once(child, 'exit')
  const files = [...new Set(groups.flat())]
  const unfinished = listUnfinished(folder, files)
  /** A group that fails as a whole is named by its path: what it was running, or any of its files. */
  const toFiles = (name: string): readonly string[] => {
    if (!paths.includes(name)) return [name]
    const taken = listTakenBy(folder, files, name)
    return taken.some((file) => unfinished.includes(file)) ? [] : taken
  }
  const named = readFileSync(record, 'utf8').split('\n').filter(Boolean)
  return { code: code ?? 1, failed: [...new Set([...named.flatMap(toFiles), ...unfinished])] }
}

/** More failures than this are not by chance. */
const MAX_AGAIN = 5

/** A test that fails only beside others may have been too slow: it counts if it fails once more, with nothing beside. */
async function runAgain(run: Run, files: readonly string[]): Promise<number> {
  if (files.length > MAX_AGAIN) return 1
  console.log(`\nrun again, one at a time: ${files.join(' ')}\n`)
  const groups = files.map((file) => [file])
  const { code, failed } = await runGroups(run, groups, 1)
  const passed = files.filter((file) => !failed.includes(file))
  if (passed.length > 0) console.log(`\npassed only when run again: ${passed.join(' ')}`)
  if (failed.length > 0) console.log(`\nfailed twice: ${failed.join(' ')}`)
  return code
}
