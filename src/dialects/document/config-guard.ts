// What of a configuration nobody changes through this door, be it Cardea's own or that of the database behind it.
import { Refusal } from '../../base/errors.ts'
import type { RequestContext } from '../../http/request-context.ts'
import { isOpenOption } from './upstream-options.ts'

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

/** In whatever spelling: a file or a later version may read it as the section it resembles. */
export const isProtected = (section: string): boolean => PROTECTED.has(fold(section))

/** Of the same kind in versions of the database that are older than this door's words. */
const PROTECTED_BEHIND: ReadonlySet<string> = new Set([...PROTECTED, 'os_daemon_settings', 'update_notification'])

const isRead = (method: string): boolean => method === 'GET' || method === 'HEAD'

const NODE = '_node'
const CONFIG = '_config'
/** What sections and keys of that database are made of. A file reads nothing else into these signs, as into `=` or `;`. */
const PLAIN = /^[A-Za-z0-9_.:/@*+$()~,-]+$/
/** Places of files, folders and programs are for who has the machine. */
const LOCATION = /(?:file|dir)$|(?:^|_)(?:filename|folder|directory|paths?|certs?|command|program|handler|fun)$/
/** Cardea tells the database who its administrators are; certificates are for the owner of the machine. */
const CLOSED: ReadonlySet<string> = new Set(['admins', 'ssl', 'jwt_auth', 'jwt_keys'])
/** Where the database listens, what it loads, and how it recognises Cardea. In every section, also those of later versions. */
const CLOSED_KEYS: ReadonlySet<string> = new Set([
  'auth_plugins',
  'authentication_handlers',
  'bind_address',
  'hash_algorithms',
  'port',
  'proxy_use_secret',
  'secure_rewrites',
  'server_options',
  'socket_options',
  'x_auth_roles',
  'x_auth_token',
  'x_auth_username',
])

const SECRET_SECTIONS = /^(?:admins|jwt_keys)$|secret/i
const SECRET_KEY = /passw|secret|(?:api|private)_?key/i
/** Keys that sound like secrets and hold none. */
const PUBLIC_KEYS: ReadonlySet<string> = new Set(['proxy_use_secret', 'password_regexp', 'password_scheme'])
const CREDENTIALS_IN_URL = /:\/\/[^/\s@]*:[^/\s@]*@/

/** Whether the value of `[section] key` must not be shown. */
export function isSecretSetting([section = '', key = '']: readonly string[], value: string): boolean {
  if (SECRET_SECTIONS.test(section)) return true
  return (SECRET_KEY.test(key) && !PUBLIC_KEYS.has(key)) || CREDENTIALS_IN_URL.test(value)
}

/**
 * Throws where a request would change what could start programs behind this door or name files there, on whatever node,
 * in whatever spelling, or bring lines of its own into a file there. Versions before 2.0 have their configuration at the
 * root.
 */
export function checkForwardedChange(
  { method, path: { segments } }: Pick<RequestContext, 'method' | 'path'>,
  isOwnSection: (section: string) => boolean,
): void {
  const names = findConfigNames(segments)
  if (isRead(method)) return
  if (isClusterSetup(segments))
    throw new Refusal('forbidden', { about: `${CLUSTER_SETUP} changes what cannot be set over HTTP` })
  const [section, ...keys] = names ?? []
  if (section === undefined) return
  checkSection(section, isOwnSection)
  for (const [index, key] of keys.entries()) {
    const before = index === 0 ? section : (keys[index - 1] ?? '')
    if (before === CONFIG) checkSection(key, isOwnSection)
    else checkKey(before, key)
  }
}

const CLUSTER_SETUP = '_cluster_setup'

/** It sets the address, the port, the administrators and the Erlang cookie of the database. */
const isClusterSetup = ([first, ...rest]: readonly string[]): boolean =>
  first === CLUSTER_SETUP || (first === NODE && rest.some((part) => part.split('/').includes(CLUSTER_SETUP)))

/** Section and key that a path of a configuration names; `undefined`: it is the path of something else. */
export function findConfigNames(segments: readonly string[]): readonly string[] | undefined {
  const [first = ''] = segments
  if (first !== NODE && first !== CONFIG && !(first.startsWith('_') && HIDDEN.test(first))) return undefined
  const from = segments.findIndex((part) => part === CONFIG || HIDDEN.test(part))
  if (from < 0) return undefined
  if (segments[from] !== CONFIG) refuse('path')
  return segments.slice(from + 1)
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
  const plain = fold(key)
  const isClosed = CLOSED_KEYS.has(plain) || LOCATION.test(plain) || !isOpenOption(section, key)
  if (isClosed || isSecretSetting([section, key], '')) {
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
