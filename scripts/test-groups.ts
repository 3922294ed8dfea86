/**
 * Runs test files with `node --test`. Loading Cardea and compiling it takes most of the time of a short test file, so
 * several share a process: a group. Each file is a suite of its group, loaded when the one before has ended.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { findDistances, readImportGraph } from './import-graph.ts'
import { readCpuSeconds, renderTimes } from './test-times.ts'

/** Files that share a process with no other, and why. */
const ALONE: Readonly<Record<string, string>> = {
  'test/store/open.test.ts': 'expects that the driver of PostgreSQL is not loaded',
}

const MAX_GROUP_FILES = 24
/**
 * Folders whose tests take long, and how many of their files share a process: few, as they load little of Cardea
 * themselves. They start first, in this order, so that no long group is left when all others have ended.
 */
const LONG: Readonly<Record<string, number>> = {
  'test/docs': 12,
  'test/scripts': 2,
  'test/package': 1,
  'test/process': 4,
  'test/process/cli': 4,
  'test/console': 5,
  'test/store': 4,
}
// The default leaves one core idle: on two cores it runs one file at a time. Half of the time that files take they wait
// for a timeout, a process or a browser: two groups for each core use both cores until the end.
const PROCESSES = 2 * availableParallelism()
const MAX_RUN_MS = 60 * 60 * 1000

/** Up to this number, files are dealt out among as many groups as run at once. */
const FEW_FILES = 24

const orderOf = (file: string): number => {
  const index = Object.keys(LONG).indexOf(dirname(file))
  return index === -1 ? Number.POSITIVE_INFINITY : index
}

const byFolder = (a: string, b: string): number =>
  orderOf(a) === orderOf(b) ? (a < b ? -1 : 1) : orderOf(a) - orderOf(b)

function formGroups(files: readonly string[]): string[][] {
  const [alone, others] = [files.filter((file) => file in ALONE), files.filter((file) => !(file in ALONE))]
  const sorted = others.toSorted(byFolder)
  return [...(files.length <= FEW_FILES ? deal(sorted) : cut(sorted)), ...alone.map((file) => [file])]
}

const deal = (files: readonly string[]): string[][] =>
  Array.from({ length: Math.min(PROCESSES, files.length) }, (_, group) =>
    files.filter((_, index) => index % PROCESSES === group),
  )

/** Groups of neighbours. */
function cut(files: readonly string[]): string[][] {
  const groups: string[][] = []
  for (const file of files) {
    const last = groups.at(-1)
    const size = LONG[dirname(file)] ?? MAX_GROUP_FILES
    if (last !== undefined && last.length < size && orderOf(last[0] ?? '') === orderOf(file)) last.push(file)
    else groups.push([file])
  }
  return groups
}

const urlOf = (file: string): string => pathToFileURL(resolve(file)).href

export const renderGroup = (
  files: readonly string[],
  record: string,
): string => `import { endWithTests } from '${urlOf('test/support/end-with-tests.ts')}'
import { createFileRunner } from '${urlOf('scripts/test-suites.ts')}'
import { createTimesRecorder } from '${urlOf('scripts/test-times.ts')}'
const files = ${JSON.stringify(Object.fromEntries(files.map((file) => [file, urlOf(file)])))}
const recordTimes = createTimesRecorder('${record}')
const runFile = createFileRunner()
// the runner ends a process that waits for nothing, and would leave out the files that follow
const alive = setInterval(() => {}, 60_000)
for (const [name, url] of Object.entries(files)) {
  await runFile(name, url)
  recordTimes(name)
}
clearInterval(alive)
endWithTests(Object.keys(files))
`

/** The runner sorts by path: groups run in the order of their numbers. */
const writeGroups = (folder: string, groups: readonly (readonly string[])[]): string[] =>
  groups.map((files, index) => {
    const path = join(folder, `${String(index).padStart(3, '0')}.mjs`)
    writeFileSync(path, renderGroup(files, join(folder, 'times')))
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
  const folder = mkdtempSync(join(tmpdir(), 'cardea-test-groups-'))
  const run: Run = { folder, options: given.filter((option) => option !== '--times'), setup: await findSetup(files) }
  const first = await runGroups(run, formGroups(files), PROCESSES)
  const code = first.failed.length === 0 ? first.code : await runAgain(run, first.failed)
  if (given.includes('--times')) console.log(renderTimes(join(folder, 'times'), readCpuSeconds()))
  rmSync(folder, { recursive: true })
  return code
}

interface Run {
  readonly folder: string
  readonly options: readonly string[]
  readonly setup: Awaited<ReturnType<typeof findSetup>>
}

/** Resolves with the exit code, and the files in which a test failed. */
async function runGroups({ folder, options, setup }: Run, groups: readonly (readonly string[])[], processes: number) {
  const record = join(folder, 'failed')
  const reporters = ['--test-reporter=spec', '--test-reporter-destination=stdout']
  reporters.push(`--test-reporter=${urlOf('scripts/test-failures.ts')}`, `--test-reporter-destination=${record}`)
  // A test and a suite may take long on a busy machine: the limit is for those that hang.
  const limits = ['--test-timeout=600000', `--test-concurrency=${processes}`]
  const paths = writeGroups(folder, groups)
  // Compiled sources are kept for the next process. Coverage needs them whole.
  const isCounting = options.includes('--experimental-test-coverage')
  const cache = isCounting ? {} : { NODE_COMPILE_CACHE: resolve('node_modules/.cache/compiled') }
  // A synchronous loop in a test has no other limit. The runner then names the files that were running.
  const child = spawn(process.execPath, ['--test', ...limits, ...reporters, ...setup.args, ...options, ...paths], {
    stdio: 'inherit',
    env: { ...process.env, ...setup.env, ...cache },
    timeout: MAX_RUN_MS,
  })
  const [code] = await once(child, 'exit')
  const failed = readFileSync(record, 'utf8').split('\n').filter(Boolean)
  // a group that fails as a whole is named by its path
  return { code: code ?? 1, failed: failed.flatMap((name) => groups[paths.indexOf(name)] ?? name) }
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
