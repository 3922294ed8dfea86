import { join } from 'node:path'
import type { Context } from './context.ts'
import { isFolderMade } from './folder.ts'

/** Where `cardea start` and `cardea init` put a configuration by default. */
export const DEFAULT_FOLDER = 'data'

/** What was named; else the folder a plain `cardea start` uses, so that commands beside it speak of the same server. */
export function chooseConfigs({ flags, env, cwd }: Context): readonly string[] {
  const isNamed = flags.configs.length > 0 || Boolean(env['CARDEA_CONFIG'])
  return !isNamed && isFolderMade(join(cwd, DEFAULT_FOLDER)) ? [DEFAULT_FOLDER] : flags.configs
}
