// What `cardea config check` finds: everything in files and options that would prevent a start.
import { renderNotices } from '../config/describe.ts'
import { exitCodeOf, type Problem, renderProblem } from '../config/problems.ts'
import { checkStoreFolder } from '../live-config/load.ts'
import { checkAdministrators, listMalformed } from '../live-config/snapshot.ts'
import { checkReferencedFiles } from './check-referenced-files.ts'
import { type Context, EXIT } from './context.ts'
import { loadReadingOf } from './own-settings.ts'

/**
 * In the order of a start, so that both report the same. `exitCode`: 0 without problems, otherwise that of a start; only
 * then `settings` are usable. `storeProblem`: why the store could not be read.
 */
export async function checkConfiguration(context: Context) {
  const { settings, problems, isStoreRead, storeProblem, ...reading } = await loadReadingOf(context)
  const base = { settings, storeProblem, warnings: [...reading.warnings, ...renderNotices(settings)] }
  const reject = (found: readonly Problem[]) => ({
    ...base,
    problems: found.map(renderProblem),
    exitCode: exitCodeOf(found),
  })
  // invalid settings do not say which files are meant
  const first = problems.length > 0 ? problems : await checkReferencedFiles(settings)
  if (first.length > 0) return reject(first)
  const missing = isStoreRead ? checkAdministrators(settings) : undefined
  if (missing !== undefined) return { ...base, problems: [missing], exitCode: EXIT.failed }
  const misplaced = checkStoreFolder(settings)
  if (misplaced.length > 0) return reject(misplaced)
  return { ...base, warnings: [...base.warnings, ...listMalformed(settings)], problems: [], exitCode: 0 }
}
