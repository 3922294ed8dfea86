// Options and sections of CouchDB and ArangoDB that Cardea accepts beside its own: those without effect here, old names,
// and those of earlier sections.
import type { OptionName } from './options.ts'

/** Names separated by white space. */
const listWords = (text: string): readonly string[] => text.trim().split(/\s+/)

/** Sections and options of modules that can be set at run time. A build without the module must not drop what is stored. */
export const MODULES_OF_SETTINGS: ReadonlyMap<string, string> = new Map([
  ['audit.writes', 'write-audit'],
  ['directory.upgrade-hashes', 'couchdb-users'],
  ['document.grants', 'document-grants'],
  ['document.grants-others', 'document-grants'],
  ['mail', 'mail'],
  ['tracing', 'tracing'],
  ['user-databases', 'user-databases'],
])

/** Options of CouchDB in sections that Cardea has too. A CouchDB server behind Cardea may use them. */
export const DOCUMENT_UNUSED: Readonly<Record<string, readonly string[]>> = {
  chttpd: listWords(`
    allow_jsonp backlog buffer_response bulk_get_use_batches changes_timeout chunked_response_buffer config_whitelist
    decode_plus_to_space disconnect_check_jitter_msec disconnect_check_msec enable_xframe_options
    max_db_number_for_dbs_info_req prefer_minimal rewrite_limit scrub_json_request secure_rewrites server_options
    socket_options
  `),
  chttpd_auth: ['allow_conflicted_user_docs'],
  couch_httpd_auth: ['allow_conflicted_user_docs', 'authentication_db', 'upgrade_hash_on_auth'],
  couchdb: listWords(`
    attachment_stream_buffer_size attachment_writer_timeout btree_chunk_size cfile_skip_ioq
    changes_doc_ids_optimization_threshold compaction_log_level database_dir default_engine default_security
    delayed_commits delete_after_rename enable_database_recovery file_compression index_cleanup_delay_msec js_engine
    max_attachment_size max_bulk_docs_count max_bulk_get_count max_couch_server_shards max_database_name_length
    max_dbs_open max_document_id_length max_document_size max_partition_size os_process_timeout plugin_dir
    prohibit_downgrade single_node stem_interactive_updates time_seq_min_time update_lru_on_read upgrade_in_progress
    uri_file use_cfile users_db_security_editable users_db_suffix util_driver_dir view_index_dir
    write_xxhash_checksums
  `),
  httpd: listWords(`
    admin_only_all_dbs allow_jsonp authentication_handlers backlog bind_address buffer_response changes_timeout
    config_whitelist decode_plus_to_space default_handler enable_xframe_options log_max_chunk_size max_connections
    nodelay peer_header port prefer_minimal redirect_vhost_handler rewrite_limit secure_rewrites server_options
    socket_options vhost_global_handlers
  `),
  jwt_auth: ['allowed_algorithms'],
  log: listWords(`
    color file filter_fields include_sasl max_message_size output report_level strip_last_msg syslog_appid
    syslog_enterprise syslog_facility syslog_host syslog_port write_buffer write_delay writer
  `),
  ssl: listWords(`
    cacert_file ciphers fail_if_no_peer_cert password secure_renegotiate ssl_certificate_max_depth tls_versions
    verify_fun verify_ssl_certificates
  `),
}

/** Options of ArangoDB (3.10 to 4) in sections that Cardea has too. */
export const MULTI_MODEL_UNUSED: Readonly<Record<string, readonly string[]>> = {
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
  audit: listWords('hostname max-entry-length output queue write-log-level'),
  ssl: listWords('cafile ecdh-curve options protocol server-name-indication'),
  tls: listWords('cafile ecdh-curve options protocol server-name-indication'),
}

/** Boolean options of ArangoDB: as a flag they need no value. */
export const MULTI_MODEL_SWITCHES: Readonly<Record<string, readonly string[]>> = {
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

/** Warnings for options whose missing effect concerns security. */
export const NOTES: ReadonlyMap<string, string> = new Map([
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
  ['audit.output', 'AUDIT RECORDS ARE NOT WRITTEN THERE: use audit.destinations'],
  ['jwt_auth.allowed_algorithms', 'the kind of each key in [jwt_keys] decides which algorithms it verifies'],
  ['database.password', 'no user is created from it; list administrators in [admins]'],
])

export const RENAMED: ReadonlyMap<string, OptionName> = new Map([
  ['server.authenticate-system-only', 'server.authentication-system-only'],
  ['tls.cipher-list', 'ssl.cipher-list'],
  ['tls.keyfile', 'ssl.keyfile'],
])

const CLOSING = ['require_valid_user', 'require_valid_user_except_for_up'] as const

/** Options of earlier sections, used if the section that replaced them does not set the option. */
export const FALLBACKS: ReadonlyMap<string, OptionName> = new Map([
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
  // These were in [couch_httpd_auth] before: an old file that rejects anonymous requests must still do so.
  ...CLOSING.map((key) => [`couch_httpd_auth.${key}`, `chttpd.${key}`] as const),
])

/** CouchDB 1.x to 3.5. */
const COUCHDB_SECTIONS = listWords(`
  attachments bt_engine_cache chttpd_auth_cache cluster compaction_daemon compactions config couch_auto_purge_plugin
  couch_peruser couch_passwords_cache couch_quickjs_scanner_plugin couch_scanner couch_scanner_plugins couchdb_engines
  couch_httpd_oauth csp custodian daemons database_compaction ddoc_cache disk_monitor dreyfus external fabric
  feature_flags global_changes hibernate_after httpd_db_handlers httpd_design_handlers httpd_global_handlers indexers
  ioq ken mango mem3 native_query_servers nouveau nouveau_index_upgrader oauth_consumer_secrets
  oauth_token_secrets oauth_token_users os_daemon_settings os_daemons process_priority prometheus purge
  query_server_config query_servers quickjs replicator reshard rexi smoosh stats update_notification uuids vendor vhosts
  view_compaction view_updater view_upgrade x_frame_options
`)

/** Prefixes of CouchDB section names, such as `smoosh.ratio_dbs`. */
const COUCHDB_PREFIXES = listWords('cors: couch_scanner_plugin_ ioq. replicator. smoosh.')

/** ArangoDB 3.10 to 4. */
const ARANGODB_SECTIONS = listWords(`
  activities agency arangosearch async-registry backup cache cluster crash-handler database dump encryption foxx
  javascript ldap ldap2 network pregel query random rclone replication rocksdb tcp temp transaction ttl web-interface
`)

export const FOREIGN_SECTIONS: ReadonlySet<string> = new Set([...COUCHDB_SECTIONS, ...ARANGODB_SECTIONS])

export const isForeignSection = (section: string): boolean =>
  FOREIGN_SECTIONS.has(section) || COUCHDB_PREFIXES.some((prefix) => section.startsWith(prefix))
