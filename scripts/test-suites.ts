/**
 * The suites of a group, one for each file. `node --test` tracks every promise and every socket, to know which suite a
 * call of `it` belongs to, and which test an uncaught error. That took 3 of the 27 s of a processor that 14 files of
 * `test/scenario/multi-model` took. So tracking is on only while a file is loaded: later calls are those of the
 * context of a test (`t.test`), and an uncaught error fails the file.
 */
import { type AsyncHook, createHook } from 'node:async_hooks'
import { readFileSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

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

/** A file may take long on a busy machine: the limit is for those that hang. Tests have that of their file. */
const LIMIT_MS = 600_000

/** A suite with an asynchronous function calls `it` when others already run. */
const hasSlowSuite = (url: string): boolean =>
  /\bdescribe\([^\n]*\basync\b/.test(readFileSync(fileURLToPath(url), 'utf8'))

export function createFileRunner() {
  const tracking = findTracking()
  const errors: unknown[] = []
  const note = (error: unknown) => void errors.push(error)
  process.on('uncaughtException', note).on('unhandledRejection', note)
  const failWithErrors = async () => {
    await setImmediate() // a promise that is rejected without a handler is an error only then
    const found = errors.splice(0)
    if (found.length > 0) throw found[0] ?? new Error('a promise was rejected without a reason')
  }
  const load = async (url: string) => {
    if (!hasSlowSuite(url)) before(() => void tracking.disable())
    // a file that does not load is a test that fails: the summary counts tests only
    await import(url).catch((error: unknown) => void it('loads', () => Promise.reject(error)))
    after(failWithErrors)
  }
  /** Resolves when the tests of the file have ended. */
  return (name: string, url: string): Promise<void> => {
    tracking.enable()
    return describe(name, { timeout: LIMIT_MS }, () => load(url))
  }
}
