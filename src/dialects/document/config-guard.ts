// Forwards requests to CouchDB, and protects its configuration: which options of Cardea and CouchDB cannot be changed
// through this door, and which are secret.

import { readUtf8 } from '../../base/encoding.ts'
import { badRequest, Refusal } from '../../base/errors.ts'
import { isJsonObject, readJson } from '../../base/json.ts'
import type { Reply, RequestContext } from '../../http/request-context.ts'
import type { DoorUpstream } from '../services.ts'

/** Sections that name programs or modules that CouchDB runs. Cardea uses none of them. */
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

/** In any spelling: a parser of another version may read it as the section it resembles. */
export const isProtected = (section: string): boolean => PROTECTED.has(fold(section))

/** With the sections of the same kind in older versions of CouchDB. */
const PROTECTED_UPSTREAM: ReadonlySet<string> = new Set([...PROTECTED, 'os_daemon_settings', 'update_notification'])

const isRead = (method: string): boolean => method === 'GET' || method === 'HEAD'

const NODE = '_node'
const CONFIG = '_config'
/** The characters of sections and keys. None of them has a meaning of its own in an ini file, unlike `=` or `;`. */
const PLAIN = /^[A-Za-z0-9_.:/@*+$()~,-]+$/
/** Keys that name files, folders or programs: only the administrator of the machine may set them. */
const LOCATION = /(?:file|dir)$|(?:^|_)(?:filename|folder|directory|paths?|certs?|command|program|handler|fun)$/
/** Users and keys come from Cardea, certificates from the administrator of the machine. */
const CLOSED: ReadonlySet<string> = new Set(['admins', 'ssl', 'jwt_auth', 'jwt_keys'])
/** Where the database listens, what it loads, and how it recognises Cardea. Applies to every section. */
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
/** Keys that match `SECRET_KEY` and hold no secret. */
const PUBLIC_KEYS: ReadonlySet<string> = new Set(['proxy_use_secret', 'password_regexp', 'password_scheme'])
const CREDENTIALS_IN_URL = /:\/\/[^/\s@]*:[^/\s@]*@/

/** Whether the value of `[section] key` must not be shown. */
function isSecretSetting([section = '', key = '']: readonly string[], value: string): boolean {
  if (SECRET_SECTIONS.test(section)) return true
  return (SECRET_KEY.test(key) && !PUBLIC_KEYS.has(key)) || CREDENTIALS_IN_URL.test(value)
}

/**
 * Throws if a forwarded request would change an option of CouchDB that names programs or files, on any node and in any
 * spelling, or would inject lines into its ini file. CouchDB before 2.0 has `_config` at the root.
 */
function checkForwardedChange(
  { method, path: { segments } }: Pick<RequestContext, 'method' | 'path'>,
  isOwnSection: (section: string) => boolean,
): void {
  if (isRead(method)) return
  if (isClusterSetup(segments))
    throw new Refusal('forbidden', { reason: `${CLUSTER_SETUP} changes options that cannot be set over HTTP` })
  const [section, ...keys] = findConfigNames(segments) ?? []
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

/** The section and key in a path of a configuration; `undefined` for any other path. */
function findConfigNames(segments: readonly string[]): readonly string[] | undefined {
  const first = segments[0] ?? ''
  if (first !== NODE && first !== CONFIG && !(first.startsWith('_') && ENCODED_CONFIG.test(first))) return undefined
  const from = segments.findIndex((part) => part === CONFIG || ENCODED_CONFIG.test(part))
  if (from < 0) return undefined
  if (segments[from] !== CONFIG) rejectName('path')
  return segments.slice(from + 1)
}

/** `_config` behind an encoded slash: one segment here, but perhaps several in the database. */
const ENCODED_CONFIG = /(?:^|\/)_config(?:\/|$)/

function rejectName(what: string): never {
  throw badRequest(`Invalid configuration ${what}`)
}

function checkSection(section: string, isOwnSection: (section: string) => boolean): void {
  const plain = fold(section)
  if (PROTECTED_UPSTREAM.has(plain)) throw new Refusal('section_protected')
  const isLookAlike = section !== plain && (CLOSED.has(plain) || isOwnSection(plain)) && !isOwnSection(section)
  if (isLookAlike || !PLAIN.test(section)) rejectName('section')
}

function checkKey(section: string, key: string): void {
  if (!PLAIN.test(key)) rejectName('key')
  const plain = fold(key)
  const isClosed = CLOSED_KEYS.has(plain) || LOCATION.test(plain) || !isOpenOption(section, key)
  if (isClosed || isSecretSetting([section, key], ''))
    throw new Refusal('forbidden', { reason: `[${section}] ${key} cannot be set over HTTP` })
}

/** Removes differences of case, spacing, punctuation and look-alike characters. */
const fold = (section: string): string =>
  section
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_|_$/g, '')

/** Forwards a request, unless it would change a protected option. Masks the secrets in a configuration. */
export function forwardGuarded(
  context: RequestContext,
  upstream: DoorUpstream,
  isOwnSection: (section: string) => boolean,
): Promise<Reply> {
  checkForwardedChange(context, isOwnSection)
  const names = findConfigNames(context.path.segments)
  return names === undefined ? upstream.forward(context) : forwardConfig(context, upstream, names)
}

/** A whole configuration is about ten kilobytes. */
const MAX_CONFIG_BYTES = 1 << 20

/** A reply that cannot be parsed is not forwarded: it could contain a secret. */
async function forwardConfig(context: RequestContext, upstream: DoorUpstream, names: readonly string[]) {
  const reply = await upstream.forwardWhole(context, MAX_CONFIG_BYTES)
  if (context.method === 'HEAD' || reply.status >= 300) return reply
  const text = reply.body instanceof Uint8Array ? readUtf8(reply.body) : undefined
  const reading = readJson(text ?? '')
  if (reading.kind === 'refused') throw unreadable('not JSON')
  return { ...reply, body: `${JSON.stringify(maskSecrets(reading.value, names))}\n` }
}

/** The options of CouchDB that are at the path of this request, without secrets. Empty: it does not show them now. */
export async function findUpstreamConfig(
  context: RequestContext,
  upstream: DoorUpstream,
): Promise<Readonly<Record<string, unknown>>> {
  if (context.method === 'HEAD') return {}
  try {
    const { status, body } = await forwardConfig(context, upstream, findConfigNames(context.path.segments) ?? [])
    const reading = readJson(status === 200 && typeof body === 'string' ? body : '')
    return reading.kind === 'json' && isJsonObject(reading.value) ? reading.value : {}
  } catch (error) {
    // those of Cardea are shown although CouchDB cannot be reached
    if (error instanceof Refusal) return {}
    throw error
  }
}

const MASK = '***'

/** A configuration has two levels, sections and keys. The limit bounds the recursion. */
const MAX_DEPTH = 4

/** `names` are the section and the key that lead to the value. */
function maskSecrets(value: unknown, names: readonly string[], depth = 0): unknown {
  if (typeof value === 'string') return isSecretSetting(names, value) ? MASK : value
  if (typeof value !== 'object' || value === null) return value
  if (depth >= MAX_DEPTH) throw unreadable('nested too deeply')
  if (Array.isArray(value)) return value.map((item) => maskSecrets(item, names, depth + 1))
  const members = Object.entries(value).map(([name, inner]) => [name, maskSecrets(inner, [...names, name], depth + 1)])
  return Object.fromEntries(members)
}

const unreadable = (why: string): Refusal =>
  new Refusal('upstream_failed', { detail: `the configuration of the upstream is ${why}` })

const toNames = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/))

/** Sections in which every option may be changed, except for the keys that are rejected in every section. */
const OPEN_SECTIONS = toNames(`
  attachments bt_engine_cache chttpd_auth_cache compaction_daemon compactions cors couch_auto_purge_plugin
  couch_passwords_cache couch_peruser couch_quickjs_scanner_plugin couch_scanner couch_scanner_plugins csp custodian
  database_compaction ddoc_cache disk_monitor fabric global_changes hibernate_after ioq ken mango nouveau
  nouveau_index_upgrader process_priority purge query_server_config quickjs replicator reshard rexi smoosh stats uuids
  vendor view_compaction view_updater view_upgrade x_frame_options
`)

/** Prefixes of section names, as in `smoosh.ratio_dbs`. */
const OPEN_FAMILIES = ['cors:', 'couch_scanner_plugin_', 'ioq.', 'replicator.', 'smoosh.']

const HTTP_OPTIONS = toNames(`
  WWW-Authenticate admin_only_all_dbs allow_jsonp buffer_response bulk_get_use_batches changes_timeout
  chunked_response_buffer disconnect_check_jitter_msec disconnect_check_msec enable_cors enable_xframe_options
  log_max_chunk_size max_db_number_for_dbs_info_req max_http_request_size max_uri_length prefer_minimal
  require_valid_user require_valid_user_except_for_up rewrite_limit scrub_json_request
`)

const AUTH_OPTIONS = toNames(`
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
    toNames(`
      attachment_stream_buffer_size attachment_writer_timeout btree_chunk_size cfile_skip_ioq
      changes_doc_ids_optimization_threshold compaction_log_level default_security delayed_commits delete_after_rename
      enable_database_recovery file_compression index_cleanup_delay_msec js_engine maintenance_mode max_attachment_size
      max_bulk_docs_count max_bulk_get_count max_couch_server_shards max_database_name_length max_dbs_open
      max_document_id_length max_document_size max_partition_size os_process_timeout prohibit_downgrade single_node
      stem_interactive_updates time_seq_min_time update_lru_on_read upgrade_in_progress use_cfile
      users_db_security_editable uuid write_xxhash_checksums
    `),
  ],
  ['cluster', toNames('n q placement')],
  ['dreyfus', toNames('fsync_interval limit max_limit retry_limit')],
  ['log', toNames('color include_sasl level max_message_size report_level strip_last_msg write_buffer write_delay')],
  ['mem3', toNames('sync_concurrency sync_security')],
])

function isOpenOption(section: string, key: string): boolean {
  if (OPEN_SECTIONS.has(section) || OPEN_FAMILIES.some((prefix) => section.startsWith(prefix))) return true
  return OPEN_OPTIONS.get(section)?.has(key) ?? false
}
