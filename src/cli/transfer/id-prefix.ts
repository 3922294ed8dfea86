import { toWireNames } from '../../config/names.ts'
import { loadConfiguration } from '../../live-config/load.ts'
import { chooseConfigs } from '../choose-configs.ts'
import type { Context } from '../context.ts'

/** What ids of user documents begin with. A configuration with problems is for whoever opens it to complain about. */
export function readIdPrefix(context: Context): string {
  const { env, cwd } = context
  const { settings } = loadConfiguration({ flags: { ...context.flags, configs: chooseConfigs(context) }, env, cwd })
  return toWireNames(settings.values).userIdPrefix
}
