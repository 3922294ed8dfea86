// What of a configuration nobody changes through this door, be it Cardea's own or that of the database behind it.
import { Refusal } from '../../base/errors.ts'
import type { Exchange, Params } from '../../door/exchange.ts'

/** Sections through which an administrator could once run programs. Nothing in them is ever used, or changed. */
const PROTECTED: ReadonlySet<string> = new Set([
  'daemons',
  'external',
  'feature_flags',
  'httpd_db_handlers',
  'httpd_design_handlers',
  'httpd_global_handlers',
  'native_query_servers',
  'os_daemons',
  'query_servers',
])

export const isProtected = (section: string): boolean => PROTECTED.has(section)

/** Of the same kind in versions of the database that are older than this door's words. */
const PROTECTED_BEHIND: ReadonlySet<string> = new Set([...PROTECTED, 'os_daemon_settings', 'update_notification'])

export const isRead = (method: string): boolean => method === 'GET' || method === 'HEAD'

const CONFIG = '_config'
const BAD_NAME = /[\x00-\x08\x0a-\x1f\x7f[\]]/

/**
 * Throws where a request would change what could start programs behind this door, on whatever node, in whatever
 * spelling, or bring lines of its own into a file there. Versions before 2.0 have their configuration at the root.
 */
export function checkForwardedChange({ method, path: { segments } }: Pick<Exchange, 'method' | 'path'>): void {
  const [first] = segments
  if ((first !== '_node' && first !== CONFIG) || isRead(method)) return
  const from = segments.indexOf(CONFIG)
  if (from < 0) return
  for (const [index, part] of segments.entries()) {
    if (index <= from) continue
    if (segments[index - 1] === CONFIG && PROTECTED_BEHIND.has(fold(part))) throw new Refusal('section_protected')
    if (BAD_NAME.test(part)) throw new Refusal('bad_request', { about: 'Invalid configuration section or key' })
  }
}

/** Without case, blanks, look-alikes and the signs somebody may read over. */
const fold = (section: string): string =>
  section
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_|_$/g, '')

/** Places of files and folders, and everything about certificates, are for who has the machine. */
const LOCATION = /(?:^|_)(?:dir|file)$/

/** The same for a setting of this node: no other spelling of what is Cardea's, and nothing HTTP may not set there. */
export function checkForwardedSetting(
  { section = '', key = '' }: Params,
  isOwnSetting: (section: string) => boolean,
): void {
  if (!isOwnSetting(section)) {
    if (!isOwnSetting(section.trim().toLowerCase())) return
    throw new Refusal('bad_request', { about: 'Invalid configuration section' })
  }
  if (section === 'ssl' || LOCATION.test(key)) {
    throw new Refusal('forbidden', { about: `[${section}] ${key} cannot be set over HTTP` })
  }
}
