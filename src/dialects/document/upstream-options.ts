// Which options of the upstream's configuration an administrator may change through Cardea.

const names = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/))

/** Sections in which every option may be changed, except for the keys that config-guard.ts rejects in every section. */
const OPEN_SECTIONS = names(`
  attachments bt_engine_cache chttpd_auth_cache compaction_daemon compactions cors couch_auto_purge_plugin
  couch_passwords_cache couch_peruser couch_quickjs_scanner_plugin couch_scanner couch_scanner_plugins csp custodian
  database_compaction ddoc_cache disk_monitor fabric global_changes hibernate_after ioq ken mango nouveau
  nouveau_index_upgrader process_priority purge query_server_config quickjs replicator reshard rexi smoosh stats uuids
  vendor view_compaction view_updater view_upgrade x_frame_options
`)

/** Prefixes of section names, as in `smoosh.ratio_dbs`. */
const OPEN_FAMILIES = ['cors:', 'couch_scanner_plugin_', 'ioq.', 'replicator.', 'smoosh.']

const HTTP_OPTIONS = names(`
  WWW-Authenticate admin_only_all_dbs allow_jsonp buffer_response bulk_get_use_batches changes_timeout
  chunked_response_buffer disconnect_check_jitter_msec disconnect_check_msec enable_cors enable_xframe_options
  log_max_chunk_size max_db_number_for_dbs_info_req max_http_request_size max_uri_length prefer_minimal
  require_valid_user require_valid_user_except_for_up rewrite_limit scrub_json_request
`)

const AUTH_OPTIONS = names(`
  allow_conflicted_user_docs allow_persistent_cookies auth_cache_size authentication_redirect cookie_domain iterations
  max_iterations min_iterations password_regexp password_scheme pbkdf2_prf public_fields require_valid_user same_site
  timeout upgrade_hash_on_auth users_db_public
`)

/**
 * Sections that also decide where CouchDB listens, how it parses paths, whom it trusts or which modules it loads: only
 * these options of them may be changed.
 */
const OPEN_OPTIONS: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['chttpd', HTTP_OPTIONS],
  ['httpd', HTTP_OPTIONS],
  ['chttpd_auth', AUTH_OPTIONS],
  ['couch_httpd_auth', AUTH_OPTIONS],
  [
    'couchdb',
    names(`
      attachment_stream_buffer_size attachment_writer_timeout btree_chunk_size cfile_skip_ioq
      changes_doc_ids_optimization_threshold compaction_log_level default_security delayed_commits delete_after_rename
      enable_database_recovery file_compression index_cleanup_delay_msec js_engine maintenance_mode max_attachment_size
      max_bulk_docs_count max_bulk_get_count max_couch_server_shards max_database_name_length max_dbs_open
      max_document_id_length max_document_size max_partition_size os_process_timeout prohibit_downgrade single_node
      stem_interactive_updates time_seq_min_time update_lru_on_read upgrade_in_progress use_cfile
      users_db_security_editable uuid write_xxhash_checksums
    `),
  ],
  ['cluster', names('n q placement')],
  ['dreyfus', names('fsync_interval limit max_limit retry_limit')],
  ['log', names('color include_sasl level max_message_size report_level strip_last_msg write_buffer write_delay')],
  ['mem3', names('sync_concurrency sync_security')],
])

export function isOpenOption(section: string, key: string): boolean {
  if (OPEN_SECTIONS.has(section) || OPEN_FAMILIES.some((prefix) => section.startsWith(prefix))) return true
  return OPEN_OPTIONS.get(section)?.has(key) ?? false
}
