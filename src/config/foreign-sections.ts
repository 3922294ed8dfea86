// Sections that CouchDB and ArangoDB know and Cardea does not use. Files and flags written for either database may hold
// them with any key: nothing in them has an effect here.

/** Names between blanks. */
export const listWords = (text: string): readonly string[] => text.trim().split(/\s+/)

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

/** Families of CouchDB sections whose names go on, such as `smoosh.ratio_dbs`. */
const COUCHDB_PREFIXES = listWords('cors: couch_scanner_plugin_ ioq. replicator. smoosh.')

/** ArangoDB 3.10 to 4. */
const ARANGODB_SECTIONS = listWords(`
  activities agency arangosearch async-registry audit backup cache cluster crash-handler database dump encryption foxx
  javascript ldap ldap2 network pregel query random rclone replication rocksdb tcp temp transaction ttl web-interface
`)

export const FOREIGN_SECTIONS: ReadonlySet<string> = new Set([...COUCHDB_SECTIONS, ...ARANGODB_SECTIONS])

export const isForeignSection = (section: string): boolean =>
  FOREIGN_SECTIONS.has(section) || COUCHDB_PREFIXES.some((prefix) => section.startsWith(prefix))
