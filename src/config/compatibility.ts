// What files and flags written for the emulated servers may hold beside Cardea's own options: settings that have no
// effect here, old names, and the earlier sections that still count where the newer ones say nothing.
import { isForeignSection, listWords } from './foreign-sections.ts'
import {
  findOption,
  isOpenSection,
  isSection,
  OPEN_SECTIONS,
  type OpenSection,
  type OptionName,
  type OptionRow,
  ROWS,
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
  couch_httpd_auth: ['allow_conflicted_user_docs', 'authentication_db', 'upgrade_hash_on_auth'],
  couchdb: [
    'attachment_stream_buffer_size',
    'attachment_writer_timeout',
    'btree_chunk_size',
    'cfile_skip_ioq',
    'changes_doc_ids_optimization_threshold',
    'compaction_log_level',
    'database_dir',
    'default_engine',
    'default_security',
    'delayed_commits',
    'delete_after_rename',
    'enable_database_recovery',
    'file_compression',
    'index_cleanup_delay_msec',
    'js_engine',
    'max_attachment_size',
    'max_bulk_docs_count',
    'max_bulk_get_count',
    'max_couch_server_shards',
    'max_database_name_length',
    'max_dbs_open',
    'max_document_id_length',
    'max_document_size',
    'max_partition_size',
    'os_process_timeout',
    'plugin_dir',
    'prohibit_downgrade',
    'single_node',
    'stem_interactive_updates',
    'time_seq_min_time',
    'update_lru_on_read',
    'upgrade_in_progress',
    'uri_file',
    'use_cfile',
    'users_db_security_editable',
    'users_db_suffix',
    'util_driver_dir',
    'view_index_dir',
    'write_xxhash_checksums',
  ],
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
    'filter_fields',
    'include_sasl',
    'max_message_size',
    'output',
    'report_level',
    'strip_last_msg',
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

/** Options of ArangoDB (3.10 to 4) in sections that Cardea has too. */
const MULTI_MODEL_UNUSED: Readonly<Record<string, readonly string[]>> = {
  auth: ['external-rbac-service'],
  database: ['password'],
  http: listWords('compress-response-threshold keep-alive-timeout redirect-root-to'),
  log: listWords(`
    api-enabled file-group file-mode hostname in-memory-level max-entry-length max-queued-entries prefix
    recording-api-enabled structured-param time-format
  `),
  server: listWords(`
    api-recording-memory-limit aql-recording-memory-limit cluster-metrics-timeout count-descriptors-interval
    descriptors-minimum export-shard-usage-metrics external-rbac-service gid io-threads license-check-interval
    license-disk-usage-grace-period-readonly license-disk-usage-grace-period-shutdown license-disk-usage-limit
    license-disk-usage-update-interval maintenance-actions-block maintenance-actions-linger maintenance-slow-threads
    maintenance-threads max-number-detached-threads maximal-number-sync-shard-actions maximal-queue-size
    maximal-threads minimal-threads ongoing-low-priority-multiplier options-api prio1-size prio2-size scheduler
    scheduler-queue-size storage-engine support-info-api telemetrics-api-max-requests uid
    unavailability-queue-fill-grade
  `),
  ssl: listWords('cafile cipher-list ecdh-curve options protocol server-name-indication'),
  tls: listWords('cafile cipher-list ecdh-curve options protocol server-name-indication'),
}

/** The same that are switches, so that as a flag they may stand alone. */
const MULTI_MODEL_SWITCHES: Readonly<Record<string, readonly string[]>> = {
  http: listWords(`
    allow-method-override handle-content-encoding-for-unauthenticated-requests hide-product-header
    permanently-redirect-root
  `),
  log: listWords(`
    escape-control-chars escape-unicode-chars force-direct foreground-tty ids in-memory keep-logrotate line-number
    performance process request-parameters role shorten-filenames thread thread-name use-json-format use-local-time
    use-microtime
  `),
  server: listWords(`
    allow-use-database api-call-recording aql-query-recording disable-authentication
    disable-authentication-unix-sockets early-connections ensure-whitespace-metrics-format export-metrics-api
    export-read-write-metrics local-authentication rest-server statistics statistics-all-databases statistics-history
    telemetrics-api validate-utf8-strings
  `),
  ssl: listWords('prefer-http1-in-alpn require-peer-certificate session-cache'),
  tls: listWords('prefer-http1-in-alpn require-peer-certificate session-cache'),
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
  ['ssl.cafile', 'CLIENT CERTIFICATES ARE NOT ASKED FOR'],
  ['ssl.require-peer-certificate', 'CLIENT CERTIFICATES ARE NOT ASKED FOR'],
  ['tls.cafile', 'CLIENT CERTIFICATES ARE NOT ASKED FOR'],
  ['tls.require-peer-certificate', 'CLIENT CERTIFICATES ARE NOT ASKED FOR'],
  ['jwt_auth.allowed_algorithms', 'the kind of each key in [jwt_keys] decides which algorithms it verifies'],
  ['database.password', 'no user is made from it; administrators stand in [admins]'],
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
const SWITCHES: ReadonlySet<string> = new Set(toNames(MULTI_MODEL_SWITCHES))
const UNUSED_NAMES: ReadonlySet<string> = new Set([
  ...DOCUMENT_UNUSED_NAMES,
  ...toNames(MULTI_MODEL_UNUSED),
  ...SWITCHES,
])

/** Sections of other names in which options of ours may stand. */
const EARLIER_SECTIONS: ReadonlySet<string> = new Set(
  [...RENAMED.keys(), ...FALLBACKS.keys()].map((name) => splitName(name).section),
)

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
  if (isForeignSection(section)) return { kind: 'unused', note: undefined, isSwitch: false }
  return { kind: isOwnSection(section) ? 'unknown option' : 'unknown section' }
}

/** Sections in which a key that is not known is a mistake: those of the table, and those they replaced. */
const isOwnSection = (section: string): boolean => isSection(section) || EARLIER_SECTIONS.has(section)

/** Whether Cardea or one of the databases knows a section. */
export const isKnownSection = (section: string): boolean =>
  isOwnSection(section) || isOpenSection(section) || isForeignSection(section)

/** Names of the sections that can have an effect here. */
export const EFFECTIVE_SECTIONS: readonly string[] = [
  ...new Set([...OPEN_SECTIONS, ...ROWS.map((row) => row.section), ...EARLIER_SECTIONS]),
]

/**
 * Whether a section, or a key in it, is for Cardea to answer, whatever database is behind. An option of the document
 * database that has no effect here belongs to that database wherever it is; an unknown one is a mistake in a section of
 * Cardea's.
 */
export function isOwnSetting(section: string, key?: string): boolean {
  const isOwn = isOwnSection(section) || isOpenSection(section)
  if (key === undefined) return isOwn
  const name = `${section}.${key}`
  const { kind } = findTarget(section, key)
  if (kind === 'unused') return UNUSED_NAMES.has(name) && !DOCUMENT_UNUSED_NAMES.has(name)
  return kind === 'unknown option' ? isOwn : kind !== 'unknown section'
}

function rowOf(name: OptionName | undefined): OptionRow | undefined {
  if (name === undefined) return undefined
  const { section, key } = splitName(name)
  return findOption(section, key)
}

const TELLING_NAME = /passw|secret/i

/** Whether the value of a setting that has no row is better not shown. */
export const soundsSecret = (key: string): boolean => TELLING_NAME.test(key)
