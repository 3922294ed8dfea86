// Deliberate bugs, to show that the soak run finds them: `--sabotage NAME` loads the nodes with one of these changes.
import { existsSync } from 'node:fs'
import { join } from 'node:path'

const SOURCES = join(import.meta.dirname, '../../../src')

const SABOTAGES = {
  /** Ended sessions are accepted again. */
  revocation: ['/directory/sessions/ended-sessions.ts', 'sessions.has(id)', 'false'],
  /** Any password and any signature is right. */
  password: ['/base/compare.ts', 'timingSafeEqual(left, right)', 'true'],
  /** A follower knows every position, whatever history the store has. */
  mark: ['/store/operations/changes.ts', "typeof to === 'number' && to >= sequence", 'true'],
  /** One write in ten is acknowledged and lost. */
  write: [
    '/store/operations/users.ts',
    'decision.accepted.size > 0',
    'decision.accepted.size > 0 && Math.random() > 0.1',
  ],
}

export const SABOTAGE_NAMES = Object.keys(SABOTAGES)

/** The environment of a node with this bug. */
export function toEnvironment(name) {
  if (name === undefined) return {}
  const [path, before, after] = SABOTAGES[name]
  if (!existsSync(join(SOURCES, path))) throw new Error(`nothing to sabotage: src${path} does not exist`)
  const program = `import { registerHooks } from 'node:module'
    registerHooks({ load(url, context, next) {
      const loaded = next(url, context)
      if (!url.endsWith(${JSON.stringify(path)})) return loaded
      const source = String(loaded.source)
      if (!source.includes(${JSON.stringify(before)})) throw new Error('nothing to sabotage in ' + url)
      return { ...loaded, source: source.replaceAll(${JSON.stringify(before)}, ${JSON.stringify(after)}) }
    } })`
  return { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(program)}` }
}
