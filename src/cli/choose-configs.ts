import { join } from 'node:path'
import type { Context } from './context.ts'
import { isFolderMade } from './folder.ts'

/** Where `cardea start` and `cardea init` put a configuration by default. */
export const DEFAULT_FOLDER = 'data'

/** The named configuration, otherwise the folder of a plain `cardea start`, so that commands find its server. */
export function chooseConfigs({ flags, env, cwd }: Context): readonly string[] {
  const isNamed = flags.configs.length > 0 || Boolean(env['CARDEA_CONFIG'])
  return !isNamed && isFolderMade(join(cwd, DEFAULT_FOLDER)) ? [DEFAULT_FOLDER] : flags.configs
}
