/**
 * What each process of a run does. A process that is idle takes the next file, which is a suite of this process, loaded
 * when the one before has ended.
 */
import { type AsyncHook, createHook } from 'node:async_hooks'
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

/** A file may take long on a busy machine: the limit is for those that hang. Tests have that of their file. */
const FILE_LIMIT_MS = 600_000
const END_LIMIT_MS = 60_000
const TICKS_PER_SECOND = 100

/** A file that has ended. `cpu`: seconds of a processor, of the file and of processes that it started. */
export interface Ended {
  readonly file: string
  readonly cpu: number
  readonly elapsed: number
}

const toRecord = (folder: string): string => join(folder, 'ended')

export const readEnded = (folder: string): Ended[] =>
  existsSync(toRecord(folder))
    ? readFileSync(toRecord(folder), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
    : []

/** Runs those of the files that no other process of the run has taken. `folder` is that of the run. */
export async function runQueue(folder: string, files: readonly string[]): Promise<void> {
  const runFile = createFileRunner()
  const taken: string[] = []
  let before = { cpu: 0, elapsed: 0 }
  // the runner ends a process that waits for nothing, and would leave out the files that follow
  const alive = setInterval(() => {}, END_LIMIT_MS)
  for (const file of files) {
    if (!take(join(folder, encodeURIComponent(file)))) continue
    taken.push(file)
    await runFile(file)
    const now = { cpu: readCpuSeconds(), elapsed: performance.now() / 1000 }
    // a browser that ended takes the time of its processes with it
    const ended: Ended = { file, cpu: Math.max(0, now.cpu - before.cpu), elapsed: now.elapsed - before.elapsed }
    appendFileSync(toRecord(folder), `${JSON.stringify(ended)}\n`)
    before = now
  }
  clearInterval(alive)
  failIfOpen(taken)
}

function take(path: string): boolean {
  try {
    writeFileSync(path, '', { flag: 'wx' })
    return true
  } catch (error) {
    if (existsSync(path)) return false
    throw error
  }
}

/** Names the sockets, timers and processes that keep the process alive. Without this, the run would wait for ever. */
function failIfOpen(files: readonly string[]): void {
  setTimeout(() => {
    const open = process.getActiveResourcesInfo()
    console.error(`the tests have ended, but these are open: ${open}. One of: ${files.join(', ')}`)
    process.exit(1)
  }, END_LIMIT_MS).unref()
}

/** Of a process, those it started and waited for, and those of its family that still run; 0 where there is no /proc. */
export function readCpuSeconds(pid = process.pid): number {
  try {
    // after the name: the state is field 3, and the times are fields 14 to 17
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    const own = fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS_PER_SECOND
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
    return children.reduce((sum, child) => sum + readCpuSeconds(Number(child)), own)
  } catch {
    return 0 // it ended meanwhile
  }
}

/**
 * `node --test` tracks every promise and every socket, to know which suite a call of `it` belongs to, and which test an
 * uncaught error. That took 3 of the 27 s of a processor that 14 files of `test/scenario/multi-model` took. So tracking
 * is on only while a file is loaded: later calls are those of the context of a test (`t.test`), and an uncaught error
 * fails the file.
 */
function createFileRunner() {
  const tracking = findTracking()
  const errors: unknown[] = []
  const note = (error: unknown) => void errors.push(error)
  process.on('uncaughtException', note).on('unhandledRejection', note)
  const failWithErrors = async () => {
    await setImmediate() // a promise that is rejected without a handler is an error only then
    const found = errors.splice(0)
    if (found.length > 0) throw found[0] ?? new Error('a promise was rejected without a reason')
  }
  const load = async (file: string) => {
    if (!hasSlowSuite(file)) before(() => void tracking.disable())
    // a file that does not load is a test that fails: the summary counts tests only
    await import(urlOf(file)).catch((error: unknown) => void it('loads', () => Promise.reject(error)))
    after(failWithErrors)
  }
  /** Resolves when the tests of the file have ended. */
  return (file: string): Promise<void> => {
    tracking.enable()
    return describe(file, { timeout: FILE_LIMIT_MS }, () => load(file))
  }
}

export const urlOf = (file: string): string => pathToFileURL(resolve(file)).href

/** The runner enables its hook with the first call of one of its functions, and gives it to no one. */
function findTracking(): AsyncHook {
  const prototype: AsyncHook = Object.getPrototypeOf(createHook({}))
  const { enable } = prototype
  const found: AsyncHook[] = []
  prototype.enable = function (this: AsyncHook) {
    found.push(this)
    return enable.call(this)
  }
  before(() => {})
  prototype.enable = enable
  const [tracking] = found
  if (tracking === undefined) throw new Error('the test runner enables no hook with its first call')
  return tracking
}

/** A suite with an asynchronous function calls `it` when others already run. */
const hasSlowSuite = (file: string): boolean => /\bdescribe\([^\n]*\basync\b/.test(readFileSync(file, 'utf8'))
