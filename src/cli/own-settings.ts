import { exitCodeOf, renderProblem } from '../config/problems.ts'
import type { Settings } from '../config/settings.ts'
import { loadConfiguration } from '../live-config/load.ts'
import { chooseConfigs } from './choose-configs.ts'
import { type Context, ExitError } from './context.ts'

/** What a server started beside this command would read, but for the run-time layer; or the end of the command. */
export function loadSettingsOf(context: Context): Settings {
  const { env, cwd } = context
  const reading = loadConfiguration({ flags: { ...context.flags, configs: chooseConfigs(context) }, env, cwd })
  if (reading.problems.length === 0) return reading.settings
  throw new ExitError(exitCodeOf(reading.problems), reading.problems.map(renderProblem).join('\n'))
}
