import { toWireNames } from '../../config/options.ts'
import { loadConfiguration } from '../../live-config/load.ts'
import { chooseConfigs } from '../choose-configs.ts'
import type { Context } from '../context.ts'

/** The prefix of the ids of user documents. Problems of the configuration are reported by the code that opens it. */
export function readIdPrefix(context: Context): string {
  const { env, cwd } = context
  const { settings } = loadConfiguration({ flags: { ...context.flags, configs: chooseConfigs(context) }, env, cwd })
  return toWireNames(settings.values).userIdPrefix
}
