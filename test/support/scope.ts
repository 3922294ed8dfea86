import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** What a test or a suite gives to clean up after itself. */
export interface Scope {
  after(work: () => unknown): void
}

/** An empty folder, removed with its scope. */
export function makeFolder(scope: Scope): string {
  const folder = mkdtempSync(join(tmpdir(), 'cardea-test-'))
  scope.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
