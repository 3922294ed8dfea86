import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'

/** What a test or a suite gives to clean up after itself. */
export interface Scope {
  after(work: () => unknown): void
}

/**
 * Ends with the file or suite that calls this, also for work that one of its tests begins. A clean-up that fails does
 * not prevent the others.
 */
export function createSharedScope(): Scope {
  const works: (() => unknown)[] = []
  after(async () => {
    const failures: unknown[] = []
    const note = (error: unknown) => failures.push(error)
    for (const work of works) await Promise.resolve().then(work).catch(note)
    if (failures.length > 0) throw failures[0]
  })
  return { after: (work) => works.push(work) }
}

/** An empty folder, removed with its scope. */
export function makeFolder(scope: Scope): string {
  const folder = mkdtempSync(join(tmpdir(), 'cardea-test-'))
  scope.after(() => removeFolder(folder))
  return folder
}

/**
 * A process of the test may still write into its folder, as folders are removed before processes are killed. Then the
 * folder stays until the test file ends: an error here would prevent the rest of the clean-up.
 */
function removeFolder(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true })
  } catch {
    process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }))
  }
}
