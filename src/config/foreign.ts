// What files and flags written for the emulated servers may hold beside Cardea's own options: settings that have no
// effect here, old names, and the earlier sections that still count where the newer ones say nothing.
import {
  findOption,
  isOpenSection,
  isSection,
  type OpenSection,
  type OptionName,
  type OptionRow,
  splitName,
} from './options.ts'

/** Of the document database. One that stands behind Cardea may well use them. */
const DOCUMENT_UNUSED: Readonly<Record<string, readonly string[]>> = {
  chttpd: [
    'allow_jsonp',
    'backlog',
    'buffer_response',
    'bulk_get_use_batches',
    'changes_timeout',
    'chunked_response_buffer',
    'config_whitelist',
    'decode_plus_to_space',
    'disconnect_check_jitter_msec',
    'disconnect_check_msec',
    'enable_xframe_options',
    'max_db_number_for_dbs_info_req',
    'prefer_minimal',
    'rewrite_limit',
    'scrub_json_request',
    'secure_rewrites',
    'server_options',
    'socket_options',
  ],
  chttpd_auth: ['allow_conflicted_user_docs'],
  chttpd_auth_cache: ['max_lifetime', 'max_objects', 'max_size'],
  couch_httpd_auth: ['allow_conflicted_user_docs', 'authentication_db', 'upgrade_hash_on_auth'],
  couch_passwords_cache: ['enable', 'max_idle', 'max_objects'],
  couchdb: [
    'attachment_stream_buffer_size',
    'btree_chunk_size',
    'changes_doc_ids_optimization_threshold',
    'database_dir',
    'default_engine',
    'default_security',
    'delayed_commits',
    'enable_database_recovery',
    'file_compression',
    'max_attachment_size',
    'max_bulk_docs_count',
    'max_bulk_get_count',
    'max_database_name_length',
    'max_dbs_open',
    'max_document_id_length',
    'max_document_size',
    'max_partition_size',
    'os_process_timeout',
    'plugin_dir',
    'single_node',
    'stem_interactive_updates',
    'update_lru_on_read',
    'uri_file',
    'users_db_security_editable',
    'users_db_suffix',
    'util_driver_dir',
    'view_index_dir',
  ],
  config: ['auto_reload_secs'],
  httpd: [
    'admin_only_all_dbs',
    'allow_jsonp',
    'authentication_handlers',
    'backlog',
    'bind_address',
    'buffer_response',
    'changes_timeout',
    'config_whitelist',
    'decode_plus_to_space',
    'default_handler',
    'enable_xframe_options',
    'log_max_chunk_size',
    'max_connections',
    'nodelay',
    'peer_header',
    'port',
    'prefer_minimal',
    'redirect_vhost_handler',
    'rewrite_limit',
    'secure_rewrites',
    'server_options',
    'socket_options',
    'vhost_global_handlers',
  ],
  jwt_auth: ['allowed_algorithms'],
  log: [
    'color',
    'file',
    'include_sasl',
    'max_message_size',
    'output',
    'report_level',
    'syslog_appid',
    'syslog_enterprise',
    'syslog_facility',
    'syslog_host',
    'syslog_port',
    'write_buffer',
    'write_delay',
    'writer',
  ],
  ssl: [
    'cacert_file',
    'ciphers',
    'fail_if_no_peer_cert',
    'password',
    'secure_renegotiate',
    'ssl_certificate_max_depth',
    'tls_versions',
    'verify_fun',
    'verify_ssl_certificates',
  ],
}

const MULTI_MODEL_UNUSED: Readonly<Record<string, readonly string[]>> = {
  auth: ['external-rbac-service'],
  cluster: ['api-jwt-policy'],
  database: ['password'],
  http: ['handle-content-encoding-for-unauthenticated-requests'],
  server: [
    'disable-authentication',
    'disable-authentication-unix-sockets',
    'early-connections',
    'local-authentication',
    'options-api',
    'support-info-api',
  ],
}

/** What somebody who set this must know, because the effect they wanted is one of safety. */
const NOTES: ReadonlyMap<string, string> = new Map([
  ['server.disable-authentication', 'AUTHENTICATION STAYS ON: only server.authentication switches it off'],
  [
    'server.disable-authentication-unix-sockets',
    'AUTHENTICATION OF UNIX SOCKETS STAYS ON: only server.authentication-unix-sockets switches it off',
  ],
  ['ssl.fail_if_no_peer_cert', 'CLIENT CERTIFICATES ARE NOT ASKED FOR'],
  ['ssl.verify_ssl_certificates', 'CLIENT CERTIFICATES ARE NOT ASKED FOR'],
  ['ssl.cacert_file', 'CLIENT CERTIFICATES ARE NOT ASKED FOR'],
  ['jwt_auth.allowed_algorithms', 'the kind of each key in [jwt_keys] decides which algorithms it verifies'],
  ['database.password', 'no user is made from it; administrators stand in [admins]'],
])

/** Unused settings that are switches, so that as a flag they may stand alone. */
const SWITCHES: ReadonlySet<string> = new Set([
  'server.disable-authentication',
  'server.disable-authentication-unix-sockets',
  'server.early-connections',
  'server.local-authentication',
  'http.handle-content-encoding-for-unauthenticated-requests',
])

const RENAMED: ReadonlyMap<string, OptionName> = new Map([
  ['server.authenticate-system-only', 'server.authentication-system-only'],
  ['tls.keyfile', 'ssl.keyfile'],
])

const CLOSING = ['require_valid_user', 'require_valid_user_except_for_up'] as const

/** Keys of the earlier sections that count where the section that replaced them says nothing. */
const FALLBACKS: ReadonlyMap<string, OptionName> = new Map([
  ...(
    [
      'WWW-Authenticate',
      'enable_cors',
      'max_http_request_size',
      'max_uri_length',
      'server_header_versions',
      'valid_hosts',
      'validate_host',
      'x_forwarded_host',
      'x_forwarded_proto',
      'x_forwarded_ssl',
      ...CLOSING,
    ] as const
  ).map((key) => [`httpd.${key}`, `chttpd.${key}`] as const),
  ...(
    [
      'allow_persistent_cookies',
      'auth_cache_size',
      'authentication_redirect',
      'cookie_domain',
      'hash_algorithms',
      'iterations',
      'max_iterations',
      'min_iterations',
      'password_regexp',
      'password_scheme',
      'pbkdf2_prf',
      'proxy_use_secret',
      'public_fields',
      'same_site',
      'secret',
      'timeout',
      'users_db_public',
      'x_auth_roles',
      'x_auth_token',
      'x_auth_username',
    ] as const
  ).map((key) => [`couch_httpd_auth.${key}`, `chttpd_auth.${key}`] as const),
  // Before it moved to [chttpd] this stood in [couch_httpd_auth]: an old file that closed the door must still do so.
  ...CLOSING.map((key) => [`couch_httpd_auth.${key}`, `chttpd.${key}`] as const),
])

/** What an earlier section may not loosen: its value counts only where this holds. */
const STRICT_ENOUGH: ReadonlyMap<OptionName, (value: unknown) => boolean> = new Map([
  ['chttpd.require_valid_user', (value) => value === true],
  ['chttpd.require_valid_user_except_for_up', (value) => value === true],
  ['chttpd.validate_host', (value) => value === true],
  [
    'chttpd_auth.iterations',
    (value) => typeof value === 'number' && value >= Number(initialOf('chttpd_auth', 'iterations')),
  ],
  ['chttpd_auth.password_scheme', (value) => value === 'pbkdf2'],
  ['chttpd_auth.proxy_use_secret', (value) => value === true],
  ['chttpd_auth.users_db_public', (value) => value === false],
])

const initialOf = (section: string, key: string): unknown => findOption(section, key)?.option.initial

export const isStrictEnough = (name: OptionName, value: unknown): boolean => STRICT_ENOUGH.get(name)?.(value) ?? true

const toNames = (unused: typeof DOCUMENT_UNUSED): readonly string[] =>
  Object.entries(unused).flatMap(([section, keys]) => keys.map((key) => `${section}.${key}`))

const DOCUMENT_UNUSED_NAMES: ReadonlySet<string> = new Set(toNames(DOCUMENT_UNUSED))
const UNUSED_NAMES: ReadonlySet<string> = new Set([...DOCUMENT_UNUSED_NAMES, ...toNames(MULTI_MODEL_UNUSED)])

/** Sections of other names in which options of ours may stand. */
const EARLIER_SECTIONS: ReadonlySet<string> = new Set(
  [...RENAMED.keys(), ...FALLBACKS.keys()].map((name) => splitName(name).section),
)

/** Sections in which every key must be one somebody knows. */
const KNOWN_SECTIONS: ReadonlySet<string> = new Set([
  ...Object.keys(DOCUMENT_UNUSED),
  ...Object.keys(MULTI_MODEL_UNUSED),
  ...EARLIER_SECTIONS,
])

/** Every name that is understood although it is no row of the table. */
export const FOREIGN_NAMES: readonly string[] = [...UNUSED_NAMES, ...RENAMED.keys(), ...FALLBACKS.keys()]

/** What `[section] key` means here. */
export type Target =
  | { readonly kind: 'option'; readonly row: OptionRow; readonly isOldName?: true }
  | { readonly kind: 'fallback'; readonly row: OptionRow }
  | { readonly kind: 'open'; readonly section: OpenSection }
  | { readonly kind: 'unused'; readonly note: string | undefined; readonly isSwitch: boolean }
  | { readonly kind: 'unknown option' }
  | { readonly kind: 'unknown section' }

export function findTarget(section: string, key: string): Target {
  const row = findOption(section, key)
  if (row) return { kind: 'option', row }
  if (isOpenSection(section)) return { kind: 'open', section }
  const name = `${section}.${key}`
  const renamed = rowOf(RENAMED.get(name))
  if (renamed) return { kind: 'option', row: renamed, isOldName: true }
  const fallback = rowOf(FALLBACKS.get(name))
  if (fallback) return { kind: 'fallback', row: fallback }
  if (UNUSED_NAMES.has(name)) return { kind: 'unused', note: NOTES.get(name), isSwitch: SWITCHES.has(name) }
  return { kind: isSection(section) || KNOWN_SECTIONS.has(section) ? 'unknown option' : 'unknown section' }
}

/**
 * Whether a section is this server's own, or what stands in it under this key. An option of the document database that
 * has no effect here is that database's wherever it stands; one nobody knows is a mistake in a section of ours.
 */
export function isOwnSetting(section: string, key?: string): boolean {
  const isOwnSection = isSection(section) || isOpenSection(section) || EARLIER_SECTIONS.has(section)
  if (key === undefined) return isOwnSection
  const { kind } = findTarget(section, key)
  if (kind === 'unused') return !DOCUMENT_UNUSED_NAMES.has(`${section}.${key}`)
  return kind === 'unknown option' ? isOwnSection : kind !== 'unknown section'
}

function rowOf(name: OptionName | undefined): OptionRow | undefined {
  if (name === undefined) return undefined
  const { section, key } = splitName(name)
  return findOption(section, key)
}

const TELLING_NAME = /passw|secret/i

/** Whether the value of a setting that has no row is better not shown. */
export const soundsSecret = (key: string): boolean => TELLING_NAME.test(key)
