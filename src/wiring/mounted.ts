import { CONTROL_SEGMENT } from '../dialects/admin-api/routes.ts'
import { GATE, KEYS, WELL_KNOWN } from '../dialects/forward-auth/routes.ts'

/**
 * Whether a path is that of a dialect mounted at every door. Doors find those by their plain spelling: what still comes to
 * a door's own dialect is spelled otherwise, and must not reach a server behind it under such a name.
 */
export function isMounted([first = '', second]: readonly string[]): boolean {
  if (!first.startsWith('_') && !first.startsWith('.')) return false
  // nothing of that kind has a slash in its name, but who stands behind may read an encoded one as two segments
  if (first.includes('/')) return true
  return first === CONTROL_SEGMENT || first === GATE || (first === WELL_KNOWN && second === KEYS)
}
