import { CONTROL_SEGMENT } from '../dialects/control/routes.ts'
import { GATE, KEYS, WELL_KNOWN } from '../dialects/wayside/routes.ts'

/**
 * Whether a path is that of a dialect mounted at every door. Doors find those by their plain spelling: what still comes to
 * a door's own dialect is spelled otherwise, and must not reach a server behind it under such a name.
 */
export const isMounted = ([first, second]: readonly string[]): boolean =>
  first === CONTROL_SEGMENT || first === GATE || (first === WELL_KNOWN && second === KEYS)
