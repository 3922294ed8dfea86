// The configuration that a server would start with here.

import { join } from 'node:path'
import { toWireNames } from '../config/options.ts'
import { exitCodeOf, type Problem } from '../config/problems.ts'
import type { Settings } from '../config/settings.ts'
import type { StartError } from '../kernel/start-error.ts'
import { ConfigError, loadConfiguration, loadStoredConfiguration, type StoredReading } from '../live-config/load.ts'
import { OPTION_TABLE } from '../module-options.ts'
import { type Context, EXIT, ExitError } from './context.ts'
import { DEFAULT_FOLDER, isFolderMade } from './folder.ts'

/** The named configuration, otherwise the folder of a plain `cardea start`, so that commands find its server. */
export function toInput({ flags, env, cwd }: Context) {
  const isNamed = flags.configs.length > 0 || Boolean(env['CARDEA_CONFIG'])
  const configs = !isNamed && isFolderMade(join(cwd, DEFAULT_FOLDER)) ? [DEFAULT_FOLDER] : flags.configs
  return { table: OPTION_TABLE, flags: { ...flags, configs }, env, cwd }
}

/** The configuration of the server of this folder, with the settings of its store. */
export const loadReadingOf = (context: Context): Promise<StoredReading> => loadStoredConfiguration(toInput(context))

/** Loads the settings without those of the store. Ends the command if there are problems. */
export function loadSettingsOf(context: Context): Settings {
  const { problems, settings } = loadConfiguration(toInput(context))
  requireNone(problems)
  return settings
}

/** Ends the command if there are problems. */
export function requireNone(problems: readonly Problem[]): void {
  if (problems.length > 0) throw toExit(new ConfigError(problems))
}

export const toExit = (error: StartError): ExitError =>
  new ExitError(error instanceof ConfigError ? exitCodeOf(error.problems) : EXIT.failed, error.message)

/** The prefix of the ids of user documents. Problems of the configuration are reported by the code that opens it. */
export const readIdPrefix = (context: Context): string =>
  toWireNames(loadConfiguration(toInput(context)).settings.values).userIdPrefix
