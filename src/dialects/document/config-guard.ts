// What of a configuration nobody changes through this door, be it Cardea's own or that of the database behind it.
import { Refusal } from '../../base/errors.ts'
import type { Exchange } from '../../door/exchange.ts'

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

const NODE = '_node'
const CONFIG = '_config'
/** What sections and keys of that database are made of. A file reads nothing else into these signs, as into `=` or `;`. */
const PLAIN = /^[A-Za-z0-9_.:/@*+$()~,-]+$/
/** Places of files, folders and programs are for who has the machine. */
const LOCATION = /(?:file|dir)$|(?:^|_)(?:filename|folder|directory|paths?|certs?|command|program|handler|fun)$/
/** Those who may manage the database are told it by Cardea, and certificates are for who has the machine. */
const CLOSED: ReadonlySet<string> = new Set(['admins', 'ssl'])

/**
 * Throws where a request would change what could start programs behind this door or name files there, on whatever node,
 * in whatever spelling, or bring lines of its own into a file there. Versions before 2.0 have their configuration at the
 * root.
 */
export function checkForwardedChange(
  { method, path: { segments } }: Pick<Exchange, 'method' | 'path'>,
  isOwnSection: (section: string) => boolean,
): void {
  const [first] = segments
  if ((first !== NODE && first !== CONFIG) || isRead(method)) return
  const from = segments.findIndex((part) => part === CONFIG || HIDDEN.test(part))
  if (from < 0) return
  if (segments[from] !== CONFIG) refuse('path')
  for (let index = from + 1; index < segments.length; index += 1) {
    const [before = '', name = ''] = [segments[index - 1], segments[index]]
    if (before === CONFIG) checkSection(name, isOwnSection)
    else checkKey(before, name)
  }
}

/** An encoded slash is a part of a name here, but perhaps not behind the door. */
const HIDDEN = /(?:^|\/)_config(?:\/|$)/

function refuse(what: string): never {
  throw new Refusal('bad_request', { about: `Invalid configuration ${what}` })
}

function checkSection(section: string, isOwnSection: (section: string) => boolean): void {
  const plain = fold(section)
  if (PROTECTED_BEHIND.has(plain)) throw new Refusal('section_protected')
  const isDisguised = section !== plain && (CLOSED.has(plain) || isOwnSection(plain)) && !isOwnSection(section)
  if (isDisguised || !PLAIN.test(section)) refuse('section')
}

function checkKey(section: string, key: string): void {
  if (!PLAIN.test(key)) refuse('key')
  if (CLOSED.has(section) || LOCATION.test(fold(key))) {
    throw new Refusal('forbidden', { about: `[${section}] ${key} cannot be set over HTTP` })
  }
}

/** Without case, blanks, look-alikes and the signs somebody may read over. */
const fold = (section: string): string =>
  section
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_|_$/g, '')
