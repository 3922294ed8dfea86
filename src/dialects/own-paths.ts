import { OWN_SEGMENT } from './admin-api/operations.ts'
import { GATE, KEYS, WELL_KNOWN } from './forward-auth/routes.ts'

/**
 * Whether a decoded path belongs to a dialect that is mounted at every door. Doors match mounts on the raw target, so
 * such a path reaches a door's own dialect only when it is percent-encoded. It must not be forwarded.
 */
export function isMounted(segments: readonly string[]): boolean {
  const first = segments[0] ?? ''
  if (!first.startsWith('_') && !first.startsWith('.')) return false
  // an upstream may decode %2F and read the segment as two
  if (first.includes('/')) return true
  return first === OWN_SEGMENT || first === GATE || (first === WELL_KNOWN && segments[1] === KEYS)
}
