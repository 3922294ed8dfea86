// What `cardea config check` finds: everything in files and options that would prevent a start.
import { renderNotices } from '../config/describe.ts'
import { exitCodeOf, renderProblem } from '../config/problems.ts'
import type { Settings } from '../config/settings.ts'
import { checkStoreFolder } from '../live-config/load.ts'
import { checkAdministrators, listMalformed } from '../live-config/snapshot.ts'
import { checkReferencedFiles } from './check-referenced-files.ts'
import type { Context } from './context.ts'
import { EXIT } from './exit-codes.ts'
import { loadReadingOf } from './own-settings.ts'

export interface CheckedConfiguration {
  /** Usable only if there are no problems. */
  readonly settings: Settings
  readonly warnings: readonly string[]
  readonly problems: readonly string[]
  /** 0 without problems, otherwise the code a start would end with. */
  readonly exitCode: number
}

export async function checkConfiguration(context: Context): Promise<CheckedConfiguration> {
  const { settings, problems, isStoreRead, ...reading } = await loadReadingOf(context)
  const warnings = [...reading.warnings, ...renderNotices(settings)]
  // invalid settings do not say which files are meant
  const found =
    problems.length > 0 ? problems : [...checkStoreFolder(settings), ...(await checkReferencedFiles(settings))]
  if (found.length > 0) return { settings, warnings, problems: found.map(renderProblem), exitCode: exitCodeOf(found) }
  const missing = isStoreRead ? checkAdministrators(settings) : undefined
  if (missing !== undefined) return { settings, warnings, problems: [missing], exitCode: EXIT.failed }
  return { settings, warnings: [...warnings, ...listMalformed(settings)], problems: [], exitCode: 0 }
}
