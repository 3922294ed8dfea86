// What `cardea config check` finds: everything in files and options that would prevent a start.
import { renderNotices } from '../config/describe.ts'
import { exitCodeOf, type Problem, renderProblem } from '../config/problems.ts'
import type { Settings } from '../config/settings.ts'
import { checkStoreFolder } from '../live-config/load.ts'
import { checkAdministrators, listMalformed } from '../live-config/snapshot.ts'
import { checkReferencedFiles } from './check-referenced-files.ts'
import { type Context, EXIT } from './context.ts'
import { loadReadingOf } from './own-settings.ts'

export interface CheckedConfiguration {
  /** Usable only if there are no problems. */
  readonly settings: Settings
  readonly warnings: readonly string[]
  readonly problems: readonly string[]
  /** 0 without problems, otherwise the code a start would end with. */
  readonly exitCode: number
  /** Why the store could not be read. */
  readonly storeProblem: string | undefined
}

/** In the order of a start, so that both report the same. */
export async function checkConfiguration(context: Context): Promise<CheckedConfiguration> {
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
