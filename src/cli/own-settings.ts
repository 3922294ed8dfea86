import { exitCodeOf, renderProblem } from '../config/problems.ts'
import type { Settings } from '../config/settings.ts'
import { loadConfiguration, loadStoredConfiguration, type StoredReading } from '../live-config/load.ts'
import { chooseConfigs } from './choose-configs.ts'
import { type Context, ExitError } from './context.ts'

const toInput = (context: Context) => ({
  flags: { ...context.flags, configs: chooseConfigs(context) },
  env: context.env,
  cwd: context.cwd,
})

/** The configuration of the server of this folder, with the settings of its store. */
export const loadReadingOf = (context: Context): Promise<StoredReading> => loadStoredConfiguration(toInput(context))

/** The same without the settings of the store. Ends the command if there are problems. */
export function loadSettingsOf(context: Context): Settings {
  const reading = loadConfiguration(toInput(context))
  if (reading.problems.length === 0) return reading.settings
  throw new ExitError(exitCodeOf(reading.problems), reading.problems.map(renderProblem).join('\n'))
}
