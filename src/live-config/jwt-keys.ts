// The keys of `[jwt_keys]`, which verify tokens that others sign, followed through reloads.
import { createLive, type Live } from '../base/live.ts'
import type { Log } from '../base/log.ts'
import { renderProblem } from '../config/problems.ts'
import { renderSource, type Settings } from '../config/settings.ts'
import type { JwtKeys } from '../keys/jwt-keys.ts'
import { checkKeySets, loadKeySets, readKeys } from './key-sets.ts'
import type { LiveConfig } from './live-config.ts'

/**
 * Files of key sets are read with the configuration. A file that cannot be read is skipped at the start, and prevents
 * a reload. An invalid key only logs a warning.
 */
export function followKeys(liveConfig: LiveConfig): Live<JwtKeys> {
  const { log, events } = liveConfig.kernel
  const first = loadKeySets(liveConfig.get().settings.open)
  for (const problem of first.problems) log.error('a key set cannot be read', { problem: renderProblem(problem) })
  let { sets } = first
  const read = (settings: Settings) => readKeys(settings.open, sets)
  const warn = createKeyWarnings(log)
  const keys = createLive(read(liveConfig.get().settings))
  warn(keys.get(), liveConfig.get().settings)
  liveConfig.onChange(({ settings }) => {
    keys.set(read(settings))
    warn(keys.get(), settings)
  })
  liveConfig.joinReload({
    prepare: async (settings) => {
      const fresh = loadKeySets(settings.open)
      const apply = () => {
        for (const [file, text] of fresh.sets)
          if (sets.has(file) && sets.get(file) !== text) events.record('key-set.reloaded', { source: file })
        sets = fresh.sets
        warn.forget()
      }
      return { problems: checkKeySets(settings.open, fresh).map(renderProblem), apply }
    },
  })
  return keys
}

/** Logs each key that cannot be used, and the same key again only after a reload. */
function createKeyWarnings(log: Log) {
  let last = ''
  const warn = ({ problems }: JwtKeys, { open }: Settings) => {
    const current = JSON.stringify(problems)
    if (current === last) return
    last = current
    for (const { name, reason } of problems) {
      const source = open.jwt_keys.find(({ key }) => key === name)?.source
      log.warn('a key for tokens cannot be used', { name, ...(source && { place: renderSource(source) }), reason })
    }
  }
  const forget = () => {
    last = ''
  }
  return Object.assign(warn, { forget })
}
