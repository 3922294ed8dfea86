// The paths of Cardea itself, which are the same at every door.

/** The first segment of the console and of the admin API. */
export const OWN_SEGMENT = '_cardea'
export const OWN_PREFIX = `/${OWN_SEGMENT}`
export const CONSOLE_PATH = `${OWN_PREFIX}/`
export const API_SEGMENT = 'api'
export const API_PREFIX = `${OWN_PREFIX}/${API_SEGMENT}`
/** The own account, for applications. */
export const ACCOUNT_SEGMENT = `${OWN_SEGMENT}/account`
export const ACCOUNT_PREFIX = `/${ACCOUNT_SEGMENT}`
/** The page with which browsers sign in. */
export const SIGN_IN_SEGMENT = `${OWN_SEGMENT}/sign-in`
export const SIGN_IN_PREFIX = `/${SIGN_IN_SEGMENT}`
export const LIVE_PATH = `${OWN_PREFIX}/live`
export const METRICS_PATH = `${OWN_PREFIX}/metrics`

/** The endpoint that a proxy asks before it forwards a request. */
export const GATE = '_gate'

const WELL_KNOWN = '.well-known'
const KEYS = 'jwks.json'
/** The key set. Other paths below the first segment belong to the upstream. */
export const KEY_SET = `${WELL_KNOWN}/${KEYS}`

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
