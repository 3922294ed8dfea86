// The keys of `[jwt_keys]`, which verify tokens that others sign, followed through reloads.
import { hash } from 'node:crypto'
import { deriveLive, type Live } from '../base/live.ts'
import type { Log } from '../base/log.ts'
import { renderProblem } from '../config/problems.ts'
import { renderSource, type Settings } from '../config/settings.ts'
import type { JwtKeys } from '../keys/jwt-keys.ts'
import { checkKeySets, listStrayLimits, loadKeySets, readKeys } from './key-sets.ts'
import type { LiveConfig } from './live-config.ts'
import { ConfigError } from './load.ts'

/**
 * Files of key sets are read with the configuration. A file that cannot be read is skipped at the start, and prevents
 * a reload. An invalid key only logs a warning. Limits that leave a key without any prevent both.
 */
export function followKeys(liveConfig: LiveConfig): Live<JwtKeys> {
  const { log, events, siblings } = liveConfig.kernel
  const first = loadKeySets(liveConfig.get().settings.open)
  for (const problem of first.problems) log.error('a key set cannot be read', { problem: renderProblem(problem) })
  let { sets } = first
  const warn = createKeyWarnings(log)
  // derived, so that a change that is tried has its keys
  const keys = deriveLive(liveConfig, ({ settings }) => readKeys(settings.open, sets))
  const listFatal = ({ open }: Settings, read: JwtKeys) => listStrayLimits(open, read).filter(({ isFatal }) => isFatal)
  const fatal = first.problems.length > 0 ? [] : listFatal(liveConfig.get().settings, keys.get())
  if (fatal.length > 0) throw new ConfigError(fatal)
  warn(keys.get(), liveConfig.get().settings)
  liveConfig.onChange('keys', ({ settings }) => warn(keys.get(), settings))
  const toDigests = (read: typeof sets) => new Map([...read].map(([file, text]) => [file, hash('sha256', text)]))
  liveConfig.joinReload({
    digests: () => toDigests(sets),
    prepare: async (settings) => {
      const fresh = loadKeySets(settings.open)
      const apply = () => {
        for (const [file, text] of fresh.sets)
          if (siblings.isFirst() && sets.has(file) && sets.get(file) !== text)
            events.record('key-set.reloaded', { source: file })
        sets = fresh.sets
        warn.forget()
      }
      const known = new Set(keys.get().keys.map(([name]) => name))
      // a key that was removed from a set leaves its limits behind, and must not stay until they are removed too
      const stray = listFatal(settings, readKeys(settings.open, fresh.sets)).filter(({ key }) => !known.has(key))
      return {
        problems: [...checkKeySets(settings.open, fresh), ...stray].map(renderProblem),
        digests: toDigests(fresh.sets),
        apply,
      }
    },
  })
  return keys
}

/** Logs each key that cannot be used, and the same key again only after a reload. */
function createKeyWarnings(log: Log) {
  let last = ''
  const warn = (keys: JwtKeys, { open }: Settings) => {
    const { problems, strayLimits } = keys
    const current = JSON.stringify([problems, strayLimits])
    if (current === last) return
    last = current
    for (const { name, reason } of problems) {
      const source = open.jwt_keys.find(({ key }) => key === name)?.source
      log.warn('a key for tokens cannot be used', { name, ...(source && { place: renderSource(source) }), reason })
    }
    for (const problem of listStrayLimits(open, keys))
      log.warn('limits of a key for tokens have no effect', { problem: renderProblem(problem) })
  }
  const forget = () => {
    last = ''
  }
  return Object.assign(warn, { forget })
}
