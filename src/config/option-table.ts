// The options of the core; modules add theirs. Everything about an option is in its row, and its name is its place:
// `[section] key` in a file, `--section.key` as a flag, `CARDEA_SECTION__KEY` in the environment. No default is written
// anywhere else.
import {
  auditDestinations,
  bindAddress,
  cookieDomain,
  endpoints,
  listenUrl,
  origins,
  peers,
  port,
  publicUrl,
  serverUrls,
  storeUrl,
  trustedOrigins,
} from './addresses.ts'
import { digests, handlers, requiredClaims } from './auth-codecs.ts'
import {
  boolean,
  type Codec,
  deprecated,
  headerName,
  headerNames,
  headerValue,
  inMs,
  matching,
  methods,
  oneLine,
  oneWordOf,
  path,
  roles,
  SECOND,
  seconds,
  secretText,
  signingSecret,
  size,
  timer,
  whole,
  words,
} from './codecs.ts'

export interface Option<T> {
  readonly codec: Codec<T>
  readonly initial: T
  /** `live` takes effect on reload, `restart` only at the next start. */
  readonly reload: 'live' | 'restart'
  /** What it does, in one short sentence. */
  readonly help: string
  /** Further sentences. */
  readonly more?: string
  readonly secret?: true
  /** Why it cannot be changed at run time: a clause after "because". */
  readonly fixed?: string
}

/** What a row has besides its codec and its default. A text alone is its help. */
export type Description = string | Omit<Option<unknown>, 'codec' | 'initial' | 'reload'>

// A default that the codec does not accept does not compile.
const rowOf =
  (reload: Option<unknown>['reload']) =>
  <T>(codec: Codec<T>, initial: NoInfer<T>, description: Description): Option<T> =>
    Object.freeze({
      codec,
      initial,
      reload,
      ...(typeof description === 'string' ? { help: description } : description),
    })

export const live = rowOf('live')
export const restart = rowOf('restart')

/** Rows that for the same reason cannot be changed at run time. */
export function fixedRows<T extends Readonly<Record<string, object>>>(fixed: string, rows: T): T {
  const entries = Object.entries(rows).map(([key, row]) => [key, Object.freeze({ ...row, fixed })])
  return Object.fromEntries(entries) as T // the same rows with one more member
}

/** Reasons why options cannot be changed at run time. */
export const FIXED = {
  audit: 'it decides which evidence is kept of what administrators do',
  clock: 'it decides whether a node with a wrong clock is used',
  file: 'it names a file of this machine',
  gateway: 'it decides where and how requests and credentials are forwarded',
  listener: 'it decides where this server listens',
  secret: 'it signs tokens of administrators',
  staleness: 'it applies while the store is unreachable',
  transport: 'browsers keep it long after it is removed',
  store: 'it decides where run-time settings are stored',
} as const

const MAX_ITERATIONS = 1_000_000_000
const SECRET_BYTES = 4096
/** The limit of ArangoDB for an HMAC secret. */
const TOKEN_SECRET_BYTES = 64

const proxyHeader = (content: string, ending: string) =>
  live(headerName('optional'), '', {
    help: `Header with ${content} in proxy authentication.`,
    more: `If empty, X-Auth-<document.name>-${ending}.`,
  })

const wireName = matching('letters, digits and -, beginning with a letter', /^[A-Za-z][A-Za-z0-9-]{0,63}$/)
const hsts = matching(
  'max-age=SECONDS, then ; includeSubDomains and ; preload if wanted',
  /^(?:|max-age=\d{1,10}(?:; ?includeSubDomains)?(?:; ?preload)?)$/i,
)
const version = matching('a version such as 3.5.2', /^[0-9A-Za-z][0-9A-Za-z.+_-]{0,63}$/)

/** Forward secrecy and authenticated encryption. Without names of TLS 1.3, Node would not offer it. */
const SAFE_CIPHERS =
  'TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256:ECDHE+AESGCM:ECDHE+CHACHA20'

const LISTENERS = 'listeners separated by commas: document, multi-model, admin, metrics'
const LISTENER_NAME = /^(?:document|multi-model|admin|metrics)$/

/** As CouchDB has them. */
const CORS_HEADERS = headerNames.parse(
  `accept, accept-language, authorization, content-length, content-range, content-type, destination,
  expires, if-match, last-modified, origin, pragma, x-couch-full-commit, x-couch-id, x-couch-persist,
  x-couchdb-www-authenticate, x-http-method-override, x-requested-with, x-couchdb-vhost-path`,
)

export const CORE_OPTIONS = {
  chttpd: {
    bind_address: restart(bindAddress, '127.0.0.1', {
      help: 'Address the document door listens on.',
      more: 'any means all addresses.',
    }),
    port: restart(port, 5984, {
      help: 'Port of the document door.',
      more: '0 chooses a free port; none switches the door off.',
    }),
    trusted_proxies: live(peers, ['loopback'], {
      help: 'Peers whose forwarded headers and proxy-authentication headers are trusted.',
      more: 'loopback means 127.0.0.0/8, ::1 and Unix sockets; none trusts no peer.',
    }),
    forwarded_headers: live(oneWordOf(['auto', 'x-forwarded', 'forwarded']), 'auto', {
      help: 'Which headers of a trusted proxy name the client.',
      more: 'auto uses X-Forwarded-* if present, otherwise Forwarded.',
    }),
    authentication_handlers: live(handlers, ['jwt', 'proxy', 'cookie', 'default'], {
      help: 'Credential handlers of the document door, in order.',
      more: 'The first handler that recognises a credential decides. The tuple syntax of CouchDB is accepted too.',
    }),
    require_valid_user: live(boolean, false, 'Reject anonymous requests.'),
    require_valid_user_except_for_up: live(boolean, false, 'Reject anonymous requests, except to /_up.'),
    'WWW-Authenticate': live(headerValue, '', {
      help: 'Value of the WWW-Authenticate header of every 401 response.',
      more: 'If empty, the header is sent only where CouchDB sends it.',
    }),
    admin_only_all_dbs: live(boolean, true, 'Allow /_all_dbs and /_dbs_info to administrators only.'),
    enable_cors: live(boolean, false, 'Handle cross-origin requests, as section [cors] says.'),
    max_uri_length: live(whole(0), 0, {
      help: 'Maximum length of a request target, in characters.',
      more: '0 means that only door.max-uri-bytes applies.',
    }),
    max_http_request_size: live(size(1), 4_294_967_296, {
      help: 'Maximum size of a request body, in bytes.',
      more: 'For requests forwarded to CouchDB it applies only if it is set: CouchDB has a limit of its own.',
    }),
    validate_host: live(boolean, false, 'Accept only the Host headers of valid_hosts.'),
    valid_hosts: live(words('host names separated by commas', /^[^\s\x00-\x1f\x7f]+$/), [], {
      help: 'Hosts accepted if validate_host is true, without port.',
    }),
    x_forwarded_host: live(headerName(), 'X-Forwarded-Host', {
      help: 'Header in which a trusted proxy sends the original Host.',
    }),
    x_forwarded_proto: live(headerName(), 'X-Forwarded-Proto', {
      help: 'Header in which a trusted proxy sends the original scheme.',
    }),
    x_forwarded_ssl: live(headerName(), 'X-Forwarded-Ssl', {
      help: 'Header that a trusted proxy sets to "on" if the client used TLS.',
    }),
    peer_header: live(headerName('optional'), '', {
      help: 'Header in which a trusted proxy sends the address of the client.',
      more: 'If empty, the forwarded headers are used.',
    }),
    server_header_versions: live(boolean, true, 'Include versions in the Server header.'),
  },

  chttpd_auth: {
    secret: live(signingSecret(SECRET_BYTES), '', {
      help: 'Signs session cookies and proxy tokens.',
      more: 'If empty, a random secret is created and kept in the store. After a change, cookies signed with the old secret are accepted for one more timeout, at most an hour; proxy tokens are not. PUT with ?grace=0 rejects both at once.',
      secret: true,
    }),
    timeout: live(whole(1), 600, 'Seconds after its last request at which a cookie session expires.'),
    max_lifetime: live(whole(0), 0, {
      help: 'Seconds after its sign-in at which a session ends, however often it is used. 0 means never.',
      more: 'At both doors and at /_cardea/. A lower value applies to existing sessions too. While it is set, a session whose sign-in time is unknown is not renewed: a cookie that CouchDB issued, or one that a program opened without the password.',
    }),
    max_sessions: live(whole(0), 0, {
      help: 'Sessions that one user can have at a time; a further sign-in ends the oldest. 0 means unlimited.',
      more: 'Counts the sessions of both doors and of /_cardea/ together. Sessions opened with an access token, with a JWT, or without the password are counted apart from those opened with the password, so that they cannot end them. Lists of sessions show the newest 1000 of each user.',
    }),
    allow_persistent_cookies: live(boolean, true, {
      help: 'Send Max-Age and Expires with the cookie, so that browsers keep it when they restart.',
    }),
    cookie_domain: live(cookieDomain, '', {
      help: 'Domain attribute of the AuthSession cookie.',
      more: 'If empty, the cookie is sent only to the host that set it.',
    }),
    cookie_host_prefix: live(boolean, false, {
      help: 'Name the cookie __Host-AuthSession for clients that use TLS.',
      more: 'Browsers accept this name from no other host. Clients that look for AuthSession do not find it. Without TLS the name stays AuthSession.',
    }),
    same_site: live(oneWordOf(['', 'none', 'lax', 'strict']), '', {
      help: 'SameSite attribute of the AuthSession cookie.',
      more: 'If empty, the attribute is omitted.',
    }),
    cookie_partitioned: live(boolean, false, {
      help: 'Partitioned attribute of the AuthSession cookie, for clients that use TLS.',
      more: 'For pages of other sites, with same_site = none: browsers that block cookies of other sites accept this one, and keep one for each site that embeds or calls the door.',
    }),
    auth_cache_size: live(whole(0), 10_000, 'Number of users and of verified passwords cached in memory.'),
    authentication_redirect: live(
      matching('a path of this server beginning with one /, or nothing', /^(?:\/(?![/\\])[\x21-\x5b\x5d-\x7e]*)?$/),
      '',
      {
        help: 'Redirect target of a successful POST /_session.',
        more: 'Applies to clients that list text/html in Accept. If empty, there is no redirect.',
      },
    ),
    hash_algorithms: live(digests, ['sha256', 'sha'], {
      help: 'HMAC algorithms of cookies and proxy tokens.',
      more: 'The first signs, all verify. The first must be available on this machine (GET /_node/_local/_versions lists them); others that are not available are skipped with a warning.',
    }),
    iterations: live(whole(1, MAX_ITERATIONS), 600_000, {
      help: 'PBKDF2 iterations of new password hashes.',
      more: 'At most ten times what OWASP recommends for the hash function: 6000000 for sha256 and sha224, 2100000 for sha512 and sha384, 13000000 for sha. A higher value is refused, for min_iterations too.',
    }),
    min_iterations: live(whole(1, MAX_ITERATIONS), 1, {
      help: 'Minimum PBKDF2 iterations a user can sign in with.',
      more: 'A user whose hash has fewer is rejected after the password was verified.',
    }),
    max_iterations: live(whole(1, MAX_ITERATIONS), MAX_ITERATIONS, {
      help: 'Maximum PBKDF2 iterations a user can sign in with.',
      more: 'A user whose hash has more is rejected after the password was verified; with more than ten times as many, before. Administrator hashes with more cannot be set. Whatever the value, a hash with more iterations than chttpd_auth.iterations can have cannot be set and is never verified.',
    }),
    password_scheme: live(oneWordOf(['pbkdf2', 'simple']), 'pbkdf2', {
      help: 'How new passwords are hashed.',
      more: 'simple is a single SHA-1, for old clients only.',
    }),
    pbkdf2_prf: live(oneWordOf(['sha', 'sha224', 'sha256', 'sha384', 'sha512']), 'sha256', {
      help: 'Hash function of PBKDF2 for new password hashes.',
    }),
    upgrade_hash_on_auth: live(boolean, true, {
      help: 'Rehash a stored password with the current parameters at the next sign-in.',
      more: 'A stronger hash is never replaced by a weaker one.',
    }),
    password_regexp: live(oneLine, '', {
      help: 'Regular expressions a new password must all match.',
      more: 'A list: ["regex", {"regex", "reason"}]. The syntax is RE2: no back references and no look-around, except (?=…) and (?!…) directly after a leading ^. Write each requirement as an element of its own. The expressions see the UTF-8 bytes of the password.',
    }),
    proxy_use_secret: live(boolean, true, {
      help: 'Require a token made with secret for proxy authentication.',
      more: 'If false, any of trusted_proxies can name any user.',
    }),
    x_auth_username: proxyHeader('the user name', 'UserName'),
    x_auth_roles: proxyHeader('the roles', 'Roles'),
    x_auth_token: proxyHeader('the token', 'Token'),
    public_fields: live(words('names of members separated by commas', /^[^\x00-\x1f\x7f]+$/), [], {
      help: 'Fields of user documents that other users may read.',
      more: 'Applies if users_db_public is true.',
    }),
    users_db_public: live(boolean, false, 'Let users read public_fields of the documents of other users.'),
    authentication_db: restart(
      matching('_users, or a name that begins with a letter', /^(?:_users|[a-z][a-z0-9_$()+-]{0,237})$/),
      '_users',
      { help: 'Name of the users database.' },
    ),
    allow_sign_up: live(boolean, false, {
      help: 'Let clients create a user document for a name that is not taken.',
      more: 'auth.peer-sign-ups-per-hour and auth.sign-ups-per-hour limit how many.',
    }),
  },

  chttpd_auth_lockout: {
    mode: live(oneWordOf(['enforce', 'warn', 'off']), 'enforce', {
      help: 'What happens after too many failed sign-ins.',
      more: 'enforce locks the account for that client address, warn only logs, off does not count.',
    }),
    threshold: live(whole(1), 5, 'Failed sign-ins after which an account is locked.'),
    max_objects: live(whole(1), 10_000, {
      help: 'Number of failure counters kept, of each kind.',
      more: 'If the limit is reached, counters with the fewest failures are dropped first.',
    }),
    max_lifetime: live(whole(1), 300_000, 'Milliseconds after the first failure at which a counter is dropped.'),
  },

  jwt_auth: {
    required_claims: live(requiredClaims, [{ name: 'exp' }], {
      help: 'Claims every JWT must have.',
      more: '{name, "value"} requires that value.',
    }),
    roles_claim_name: live(
      deprecated(oneLine, 'deprecated since CouchDB 3.3; use roles_claim_path, with \\. for a dot in a name'),
      '',
      {
        help: 'Deprecated: use roles_claim_path.',
        more: 'Top-level claim with the roles. If empty, _<document.name in lower case>.roles. Ignored if roles_claim_path is set.',
      },
    ),
    roles_claim_path: live(oneLine, '', {
      help: 'Path to the claim with the roles.',
      more: 'A dot separates levels; \\. is a dot in a name.',
    }),
  },

  cors: {
    origins: live(origins, [], {
      help: 'Accepted origins.',
      more: '* accepts all origins, and requires credentials = false.',
    }),
    credentials: live(boolean, false, 'Allow cross-origin requests with cookies and Authorization.'),
    methods: live(methods, ['CONNECT', 'COPY', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'TRACE'], {
      help: 'Methods a preflight may request.',
    }),
    headers: live(headerNames, CORS_HEADERS, 'Headers a preflight may request.'),
    exposed_headers: live(
      headerNames,
      ['accept-ranges', 'etag', 'server', 'x-couch-request-id', 'x-couch-update-newrev', 'x-couchdb-body-time'],
      { help: 'Response headers that scripts of another origin may read.' },
    ),
    max_age: live(whole(0), 600, 'Seconds a browser may cache the response to a preflight.'),
  },

  couchdb: {
    uuid: live(matching('32 hexadecimal digits, or nothing', /^(?:[0-9a-fA-F]{32})?$/), '', {
      help: 'Identifier that GET / returns.',
      more: 'If empty, a random one is created and kept in the store.',
    }),
    maintenance_mode: live(oneWordOf(['false', 'true', 'nolb']), 'false', {
      help: 'Make /_up return 404, so that load balancers stop sending requests.',
      more: 'true and nolb have the same effect.',
    }),
    users_db_deletable: live(boolean, false, {
      help: 'Allow DELETE /_users.',
      more: 'It deletes every user; the database itself stays.',
    }),
  },

  ssl: {
    enable: restart(boolean, false, { help: 'Let the document door also listen with TLS.', fixed: FIXED.listener }),
    port: restart(port, 6984, {
      help: 'TLS port of the document door.',
      more: '0 chooses a free port; none switches it off.',
      fixed: FIXED.listener,
    }),
    cert_file: live(path, '', {
      help: 'PEM file with the certificate of the document door and its chain.',
      more: 'A changed file is used for new connections within seconds.',
      fixed: FIXED.file,
    }),
    key_file: live(path, '', { help: 'PEM file with the private key of the document door.', fixed: FIXED.file }),
    keyfile: live(path, '', {
      help: 'PEM file with the certificate and private key of ssl:// endpoints.',
      more: 'A changed file is used for new connections within seconds.',
      fixed: FIXED.file,
    }),
    'client-ca': restart(path, '', {
      help: 'PEM file with the authorities of client certificates: the TLS listeners of both doors then accept them.',
      more: 'The common name of a certificate is the name of a user. A changed file is used within seconds, without a restart.',
      fixed: FIXED.file,
    }),
    'client-crl': restart(path, '', {
      help: 'PEM file with the revocation lists of the authorities in ssl.client-ca.',
      more: 'Every authority needs a list that is not out of date. A changed file is used within seconds, without a restart.',
      fixed: FIXED.file,
    }),
    'min-version': live(oneWordOf(['1.2', '1.3']), '1.2', {
      help: 'Oldest TLS version that both doors accept.',
      fixed: FIXED.listener,
    }),
    hsts: live(hsts, '', {
      help: 'Value of the Strict-Transport-Security header of responses to clients that use TLS.',
      more: 'For example max-age=31536000; includeSubDomains. Browsers then use only TLS for this host, on every port. Empty means no header.',
      fixed: FIXED.transport,
    }),
    'cipher-list': live(oneLine, SAFE_CIPHERS, {
      help: 'Ciphers of all listeners, in the format of OpenSSL.',
      more: 'Names that begin with TLS_ are for TLS 1.3. The default has those with forward secrecy and authenticated encryption only. Empty means those of Node, for clients that know no other.',
      fixed: FIXED.listener,
    }),
  },

  server: {
    endpoint: restart(endpoints, [{ kind: 'tcp', host: '127.0.0.1', port: 8529 }], {
      help: 'Where the multi-model door listens.',
      more: 'Several endpoints are separated by commas; none switches the door off.',
      fixed: FIXED.listener,
    }),
    workers: restart(matching('auto or a whole number from 1 to 64', /^(?:auto|[1-9]|[1-5]\d|6[0-4])$/), '1', {
      help: 'How many processes serve.',
      more: 'auto means one for each processor core, at most 8. With more than one, another process starts them and replaces those that end. A store in memory allows one.',
      fixed: FIXED.listener,
    }),
    'worker-timeout': live(inMs(seconds(0, 'zero')), 30 * SECOND, {
      help: 'Seconds after which a worker process that is stuck is replaced.',
      more: '0 means never.',
    }),
    authentication: live(boolean, true, 'Require credentials at the multi-model door.'),
    'authentication-system-only': live(boolean, true, {
      help: 'Require credentials only for paths under /_.',
      more: 'false requires them for every path.',
    }),
    'authentication-unix-sockets': live(boolean, true, 'Require credentials for requests over Unix sockets.'),
    'authentication-timeout': live(inMs(seconds(0, 'zero')), 0, {
      help: 'Seconds a verified Basic password is cached.',
      more: '0 means until the user changes.',
    }),
    'session-timeout': live(seconds(1), 3600, 'Lifetime in seconds of a token from POST /_open/auth.'),
    'access-tokens-as-bearer': live(boolean, false, {
      help: 'Whether the multi-model door and its services accept an access token as Authorization: Bearer.',
      more: 'ArangoDB accepts it in place of the password only.',
    }),
    'jwt-secret': restart(secretText(TOKEN_SECRET_BYTES), '', {
      help: 'Secret that signs and verifies tokens.',
      more: 'A file is safer: see jwt-secret-keyfile. If no secret is set, a random one is created at each start.',
      secret: true,
      fixed: FIXED.secret,
    }),
    'jwt-secret-keyfile': restart(path, '', {
      help: 'File with the secret that signs and verifies tokens.',
      fixed: FIXED.file,
    }),
    'jwt-secret-folder': restart(path, '', {
      help: 'Folder with several secrets: the first by name signs, all verify.',
      fixed: FIXED.file,
    }),
    'jwt-secret-watch': restart(boolean, false, {
      help: 'Read that file or folder again when it changes.',
      fixed: FIXED.file,
    }),
    role: restart(oneWordOf(['single', 'dbserver', 'agent']), 'single', {
      help: 'Role of this server: dbserver and agent accept superuser tokens only.',
    }),
    harden: live(boolean, false, 'Show versions and statistics to administrators only.'),
  },

  auth: {
    'minimal-jwt-expiry-time': live(seconds(1), 10, {
      help: 'Minimum lifetime in seconds a client may request at POST /_open/auth.',
    }),
    'maximal-jwt-expiry-time': live(seconds(1), 3600, {
      help: 'Maximum lifetime in seconds a client may request at POST /_open/auth.',
    }),
    'token-timeout': live(seconds(1), 600, {
      help: 'Lifetime in seconds of a token from POST /_cardea/account/token.',
      more: 'Its renewal token replaces it without a password.',
    }),
    'renewal-timeout': live(seconds(1), 30 * 24 * 3600, {
      help: 'Seconds without a renewal at which the session of a renewal token expires.',
      more: 'The longest life of a session, however often it is renewed, is chttpd_auth.max_lifetime.',
    }),
    'min-password-length': live(whole(0, 256), 0, {
      help: 'Minimum length of a new password, in characters.',
      more: 'Applies to users and administrators; characters are Unicode code points. 0 switches the rule off.',
    }),
    'password-check': live(oneWordOf(['off', 'on']), 'off', {
      help: 'Whether a new password is refused if attackers would try it early.',
      more: 'Refused are 49 233 known passwords, also with up to four digits or signs before or after them or repeated, one character repeated, rows of digits, letters or keys, and passwords that contain the name or address of the account, or the name of this product (four characters or more). Upper and lower case count as equal. Passwords that exist, and stored forms, are not checked. cardea init switches it on.',
    }),
    'password-file': live(path, '', {
      help: 'File of leaked passwords that new ones must not be in; needs password-check.',
      more: 'Lines SHA1:COUNT, ordered by hash, as the downloader of Have I Been Pwned writes them. It is searched on this machine; nothing is sent.',
      fixed: FIXED.file,
    }),
    names: live(oneWordOf(['exact', 'folded']), 'exact', {
      help: 'Whether names that differ only in case or compatibility forms can both be created.',
      more: 'With folded, a new name is refused if another user or administrator has it in another case or form (Ada, ADA, ａｄａ). Names that exist stay, and sign-in is exact in any case. Look-alikes of other scripts are not found.',
    }),
    'reauthenticate-after': live(seconds(0, 'zero'), 0, {
      help: 'Seconds after a sign-in from which changes to your account need the current password.',
      more: 'Concerns your password, second factor and access tokens, ending your other sessions, and deleting or deactivating your account. 0 means never.',
    }),
    'account-failures': live(whole(0), 20, {
      help: 'Failed password checks of one account, from all addresses, before the response is 429.',
      more: '0 switches the limit off.',
    }),
    'account-failures-per-minute': live(whole(1), 1, 'Failures of an account that are forgotten each minute.'),
    'peer-failures': live(whole(0), 100, {
      help: 'Failed password checks from one address, for all accounts, before the response is 429.',
      more: 'IPv6 addresses are counted by /64 network. 0 switches the limit off.',
    }),
    'peer-failures-per-minute': live(whole(1), 10, 'Failures of an address that are forgotten each minute.'),
    'peer-sign-ups-per-hour': live(whole(0), 10, {
      help: 'Users that clients of one address may create in an hour, before the response is 429.',
      more: 'For chttpd_auth.allow_sign_up; administrators are not limited. IPv6 addresses are counted by /64 network. 0 switches the limit off.',
    }),
    'sign-ups-per-hour': live(whole(0), 1000, {
      help: 'Users that clients of all addresses may create in an hour, before the response is 429.',
      more: '0 switches the limit off.',
    }),
  },

  admin: {
    endpoint: restart(endpoints, [], {
      help: 'Additional listener for /_cardea/ and /.well-known/jwks.json only.',
      more: 'Independent of the authentication options of the doors. ssl:// needs ssl.keyfile. Several endpoints are separated by commas; none switches it off.',
      fixed: FIXED.listener,
    }),
    'session-timeout': live(seconds(1), 3600, {
      help: 'Seconds after its last request at which a session at /_cardea/ expires.',
    }),
    'reauthenticate-after': live(seconds(0, 'zero'), 900, {
      help: 'Like auth.reauthenticate-after, for requests to /_cardea/.',
      more: '0 means never.',
    }),
    'user-admin-role': live(oneLine, '', {
      help: 'Role of users who may manage other users at /_cardea/.',
      more: 'They may manage users who are not administrators and have no more roles and grants than they have. Empty: only administrators manage users.',
    }),
    'second-factor-roles': live(roles, [], {
      help: 'Roles whose members need a second factor; _admin means administrators.',
      more: 'A member without one signs in only to set it up: both doors reject everything else, access tokens included. Sign-ins and tokens of an identity provider need a value of second-factor in its section. Names that [jwt_keys] or proxies assert are not affected.',
    }),
  },

  console: {
    name: live(matching('at most 64 characters, none of them invisible', /^[^\p{C}]{0,64}$/u), '', {
      help: 'Name of this installation, shown where people sign in and in the console.',
      more: 'For example Shop, production. Everyone who reaches the sign-in page sees it. Empty: the host of the address.',
    }),
    'public-url': live(publicUrl, '', {
      help: 'URL at which users reach the console, without /_cardea/.',
      more: 'For example https://db.example.com. Links in messages and to set a password begin with it, providers send browsers back to it, and passkeys are made for its host. Empty: the server returns a link to set a password as a path only.',
    }),
  },

  http: {
    'trusted-origin': live(trustedOrigins, [], {
      help: 'Origins whose requests to the multi-model door may carry credentials.',
      more: '* or all trusts every origin.',
    }),
    'return-queue-time-header': live(boolean, true, {
      help: 'Send the queue time header with responses of the multi-model door.',
    }),
  },

  document: {
    name: restart(wireName, 'CouchDB', {
      help: 'Product name that clients of the document door see.',
      more: 'Used in X-Auth-<name>-*, _<name>.roles and org.<name>.user:.',
    }),
    version: restart(version, '3.5.2', 'API version that clients of the document door see.'),
  },

  'multi-model': {
    name: restart(wireName, 'ArangoDB', {
      help: 'Product name that clients of the multi-model door see.',
      more: 'It is the realm and, in lower case, the issuer of tokens.',
    }),
    version: restart(version, '3.12.5', 'API version that clients of the multi-model door see.'),
    'web-ui-before-login': live(boolean, false, {
      help: "Serve the files of ArangoDB's web interface without a credential.",
      more: 'Needed to reach its login page. Applies to GET and HEAD below /_admin/aardvark/; they are forwarded without any identity.',
    }),
  },

  node: {
    name: restart(matching('name@host', /^[A-Za-z0-9_.-]+@[A-Za-z0-9_.:-]+$/), 'cardea@127.0.0.1', {
      help: 'Name of this node in /_node/{name}, in the list of nodes and of its audit chain.',
      more: 'With a PostgreSQL store the default is cardea@ and the host name. Each node of a store needs a name of its own, which stays the same when it is started again.',
    }),
  },

  door: {
    'max-connections': restart(whole(1), 10_000, 'Maximum number of open connections, for each listener.'),
    'proxy-protocol': restart(words(LISTENERS, LISTENER_NAME), [], {
      help: 'Listeners whose connections begin with a header of the PROXY protocol, version 1 or 2.',
      more: 'The header names the client, and is accepted from chttpd.trusted_proxies only. With TLS it comes before the handshake. A connection without a valid header is closed. Empty: no listener expects one.',
    }),
    http2: restart(words(LISTENERS, LISTENER_NAME), ['document', 'multi-model', 'admin'], {
      help: 'Listeners whose clients may use HTTP/2.',
      more: 'With TLS a client chooses the version in the handshake, without TLS by its first bytes; clients of HTTP/1.1 use the same port. Empty: HTTP/1.1 only.',
    }),
    'max-connections-per-client': live(whole(1), 1000, {
      help: 'Maximum number of open connections of one client, for each listener.',
      more: 'A client is an IPv4 address or a /64 network of IPv6. A connection of one of chttpd.trusted_proxies does not count; each request on it counts for the client that the proxy names, until it is answered. Each request over HTTP/2 counts as a connection, too.',
    }),
    'max-uri-bytes': live(size(256, 16_777_216), 16_384, 'Maximum size of a request target.'),
    'max-header-bytes': restart(size(1024, 16_777_216), 65_536, 'Maximum size of request line and headers together.'),
    'max-headers': restart(whole(10, 2000), 200, 'Maximum number of header lines of a request.'),
    'max-body-bytes': live(size(1024), 8_388_608, {
      help: 'Maximum size of a request body that Cardea itself reads.',
      more: 'Lower limits apply to user documents (1 MiB), anonymous requests (128 KiB) and sign-in (16 KiB).',
    }),
    'max-json-items': live(whole(1000, 10_000_000), 250_000, {
      help: 'Maximum number of members and elements of a JSON body, all together.',
      more: 'A larger body is rejected with 413. Lower limits apply to users (10000) and anonymous requests (2000).',
    }),
    'header-timeout': restart(timer(), 10 * SECOND, 'Seconds within which the headers of a request must arrive.'),
    'body-timeout': live(
      timer(),
      30 * SECOND,
      'Seconds without a byte of the request body after which the request is aborted.',
    ),
    'body-deadline': live(timer(), 300 * SECOND, 'Seconds within which a body that Cardea itself reads must arrive.'),
    'write-timeout': live(timer(), 60 * SECOND, {
      help: 'Seconds without progress in sending a response after which the connection is closed.',
    }),
    'keep-alive-timeout': restart(timer(), 65 * SECOND, 'Seconds an idle connection is kept open.'),
    'stop-timeout': live(
      timer('zero'),
      10 * SECOND,
      'Seconds that running requests may take to finish when the server stops.',
    ),
  },

  hashing: {
    queue: live(whole(1), 1000, {
      help: 'Maximum number of passwords waiting to be hashed.',
      more: 'More are rejected with 503. If the queue is full, the client with the most waiting passwords loses one to a client with fewer.',
    }),
  },

  store: {
    url: restart(storeUrl, 'sqlite:data/cardea.db', {
      help: 'Where users, sessions and settings are stored.',
      more: 'The value is hidden if it can contain a password.',
      secret: true,
      fixed: FIXED.store,
    }),
    'start-timeout': restart(inMs(seconds(0)), 60 * SECOND, {
      help: 'Seconds that a start waits for PostgreSQL that cannot be reached.',
      more: 'Then the process ends with exit code 1. A wrong password or a missing database ends it at once.',
      fixed: FIXED.staleness,
    }),
    'max-connections': restart(whole(2, 1000), 10, {
      help: 'Connections that this server opens to PostgreSQL at most.',
      more: 'Its workers share them. Each worker has at least two, even above this limit: one of the two watches PostgreSQL and listens for changes. With store.listen-url, each worker has another one to listen.',
      fixed: FIXED.store,
    }),
    pooling: restart(oneWordOf(['session', 'transaction']), 'session', {
      help: 'What a pooler before PostgreSQL keeps for a client: its connection, or that only within a transaction.',
      more: 'session is right without a pooler, too. With transaction, statements are not prepared, and changes are polled for unless store.listen-url is set.',
      fixed: FIXED.store,
    }),
    'listen-url': restart(listenUrl, '', {
      help: 'Where to listen for changes: the URL of PostgreSQL itself if store.url names a pooler.',
      more: 'If empty, store.url, or with store.pooling = transaction nowhere. The value is hidden.',
      secret: true,
      fixed: FIXED.store,
    }),
    'max-staleness': live(inMs(seconds(0)), 60 * SECOND, {
      help: 'Seconds a node keeps working with cached users while the store is unreachable.',
      fixed: FIXED.staleness,
    }),
    'max-clock-skew': live(inMs(seconds(1)), 30 * SECOND, {
      help: "Seconds by which the clock of a node may differ from the store's time.",
      more: "With a larger difference the node is not ready. The store's time is PostgreSQL's clock, or with SQLite the clock of this machine, and never less than the store has seen.",
      fixed: FIXED.clock,
    }),
  },

  upstream: fixedRows(FIXED.gateway, {
    document: live(serverUrls, [], {
      help: 'URL of the CouchDB server behind the document door.',
      more: 'Several URLs are tried in order if one fails.',
    }),
    'document-identity': live(oneWordOf(['jwt', 'proxy']), 'jwt', {
      help: 'How CouchDB learns the user: jwt sends a signed token, proxy sends proxy-authentication headers.',
    }),
    'document-secret': live(secretText(SECRET_BYTES), '', { help: 'Secret shared with CouchDB.', secret: true }),
    'document-rewrites': live(boolean, true, {
      help: 'Forward requests to _rewrite to CouchDB.',
      more: 'The design document chooses the target, so Cardea can authorise only the path that was sent. If false, they are rejected with 403. Requests of administrators are always rejected with 403.',
    }),
    'multi-model': live(serverUrls, [], {
      help: 'URL of the ArangoDB server behind the multi-model door.',
      more: 'Several URLs are tried in order if one fails.',
    }),
    'multi-model-identity': live(oneWordOf(['user', 'client']), 'user', {
      help: 'How ArangoDB learns the user: user sends a token that Cardea signs, client sends what the client sent.',
    }),
    'multi-model-secret-keyfile': restart(path, '', 'File with the secret that signs tokens for ArangoDB.'),
    'multi-model-secret-folder': restart(path, '', {
      help: 'Folder with several secrets for ArangoDB: the first by name signs.',
    }),
    'multi-model-admin': live(oneLine, 'root', {
      help: 'ArangoDB user that administrators act as.',
      more: 'No other user is ever forwarded under this name.',
    }),
    'connect-timeout': live(timer(), 10 * SECOND, {
      help: 'Seconds to wait for a connection to an upstream server.',
      more: 'Then the next server is tried, or the response is 504.',
    }),
    'first-byte-timeout': live(timer('zero'), 300 * SECOND, {
      help: 'Seconds from the end of a request to the first byte of the response; then 504.',
      more: 'Change feeds are exempt. 0 means no limit.',
    }),
    'idle-timeout': live(timer('zero'), 300 * SECOND, {
      help: 'Seconds without progress after which a forwarded request is aborted.',
      more: 'While the request body is sent, the response is 504; during the response, the connection is closed. Change feeds are exempt. 0 means no limit.',
    }),
    'spool-bytes': live(size(0), 16_777_216, {
      help: 'Maximum size of a chunked request body to ArangoDB.',
      more: 'ArangoDB accepts no chunked bodies, so Cardea collects them. A larger body is rejected with 413.',
    }),
    'spool-total-bytes': live(size(0), 268_435_456, {
      help: 'Maximum memory for all collected bodies together.',
      more: 'Beyond it, requests are rejected with 503 and Retry-After.',
    }),
    'ca-file': live(path, '', {
      help: 'PEM file with the certificate authorities for upstream servers, instead of those of the system.',
    }),
    sandbox: live(boolean, true, {
      help: 'Send Content-Security-Policy: sandbox with HTML, SVG and XML from upstream servers.',
      more: 'It is added to policies that the responses have. /_utils/ and /_admin/aardvark/ are exempt.',
    }),
    'service-keyfile': restart(path, '', {
      help: 'PEM file with the private key (P-256) that signs tokens for services.',
      more: 'If empty, a key is created at each start. Several nodes need the same key.',
    }),
  }),

  audit: fixedRows(FIXED.audit, {
    keep: live(whole(0, 36_500), 30, 'Days that the store keeps audit records. 0 means forever.'),
    'key-file': restart(path, '', {
      help: 'PEM file with the private key (Ed25519) that signs the checkpoints of the audit trail.',
      more: 'The newest checkpoint of each node is kept in the store and beside this file, in a file whose name ends with .checkpoint. If empty, nothing is signed, and audit verify cannot find out whether the newest records were removed.',
    }),
    destinations: restart(auditDestinations, [], {
      help: 'Where audit records are copied to, besides the store.',
      more: 'file:PATH and stdout write one JSON object per line; syslog+tcp://HOST:PORT sends messages of RFC 5424; http(s)://… is a webhook. Several are separated by commas.',
      secret: true,
    }),
    'file-size': restart(size(1000), 100_000_000, {
      help: 'Size in bytes above which an audit file is rotated.',
      more: 'The file becomes PATH.1, the one before PATH.2. After a rotation by another program, reload with SIGHUP.',
    }),
    'file-count': restart(whole(1, 1000), 10, 'Number of rotated audit files that are kept.'),
    'webhook-key-file': restart(path, '', {
      help: 'File with the secret that signs the requests of a webhook.',
      more: 'Needed for http:// and https:// in audit.destinations. White space around the secret is ignored.',
    }),
    'on-failure': live(oneWordOf(['continue', 'refuse']), 'continue', {
      help: 'While audit records cannot be written: continue, or refuse changes and new sign-ins.',
      more: 'refuse responds with 503 to changes of users, administrators, settings and secrets, and to sign-ins. Existing sessions are served, and sessions can be ended. To leave it, change the file and reload.',
    }),
  }),

  gate: {
    'cache-seconds': live(whole(0, 1), 0, {
      help: 'How long a proxy may use a response of /_gate again, in seconds.',
      more: 'Only for the same credential and roles. Behind a cache a revocation takes that long, and a second more where the cache counts whole seconds. 0 means that each request is decided by Cardea.',
    }),
    'sign-in': live(boolean, false, {
      help: 'Send browsers without a session from /_gate and from services for users to the sign-in page.',
      more: 'Only at the document door, whose session the page opens, and only for pages: GET, with text/html in Accept and without Authorization. All other requests are 401.',
    }),
  },

  metrics: {
    endpoint: restart(endpoints, [], {
      help: 'Listener for the metrics only, open to every client that can reach it.',
      more: 'Prometheus reads /metrics there. ssl:// needs ssl.keyfile. Several endpoints are separated by commas; none switches it off. At the doors, /_cardea/metrics needs an administrator or the role _metrics.',
      fixed: FIXED.listener,
    }),
  },

  log: {
    level: live(
      oneWordOf(['debug', 'info', 'warn', 'error'], {
        notice: 'info',
        warning: 'warn',
        err: 'error',
        critical: 'error',
        crit: 'error',
        alert: 'error',
        emergency: 'error',
        emerg: 'error',
      }),
      'info',
      { help: 'Minimum level of logged messages.' },
    ),
    format: restart(oneWordOf(['auto', 'text', 'json']), 'auto', {
      help: 'Format of log lines: auto writes text to a terminal and JSON elsewhere.',
    }),
    access: live(boolean, false, {
      help: 'Log one line for each request.',
      more: 'At level info: method, path without the query, status, bytes, duration, user and request id.',
    }),
  },
} as const

/** Sections whose keys the administrator chooses. */
export const OPEN_SECTIONS = ['admins', 'jwt_keys', 'jwt_key_limits', 'services'] as const
export type OpenSection = (typeof OPEN_SECTIONS)[number]

/** A description of each section of the core. */
export const CORE_SECTIONS: Readonly<Record<keyof typeof CORE_OPTIONS, string>> = {
  chttpd: 'The document door (CouchDB-compatible): listener, trusted proxies, access.',
  chttpd_auth: 'Session cookies, passwords, proxy authentication and user documents.',
  chttpd_auth_lockout: 'Temporary account lockout after failed sign-ins, at both doors.',
  jwt_auth: 'JWTs at the document door.',
  cors: 'Cross-origin requests to the document door.',
  couchdb: 'How the document door presents itself.',
  ssl: 'TLS certificates of both doors.',
  server: 'The multi-model door (ArangoDB-compatible): listener, authentication, tokens.',
  auth: 'Limits for passwords, failed sign-ins and token lifetimes, at both doors.',
  admin: "Cardea's own API at /_cardea/ and its sessions.",
  console: 'The web console at /_cardea/.',
  http: 'HTTP at the multi-model door.',
  document: 'Product name and version of the document door, and grants there.',
  'multi-model': 'Product name and version of the multi-model door.',
  node: 'The name of this node.',
  door: 'Limits and timeouts of both doors.',
  hashing: 'Password hashing.',
  store: 'The store of users, sessions and settings.',
  upstream: 'The databases and services behind the doors.',
  audit: 'The audit trail.',
  gate: 'Decisions for other proxies, at /_gate.',
  metrics: 'Metrics for Prometheus.',
  log: 'Logging.',
}

/** A description of each open section. */
export const OPEN_SECTION_HELP: Readonly<Record<OpenSection, string>> = {
  admins:
    'Administrators at both doors: name = password. Plain-text passwords are hashed at start, and the file is rewritten. The file should have mode 600, or 640 if the server reads it by its group; otherwise start and config check warn. Removing a line removes the administrator. A password changed at run time wins over the line, until the line has another plain-text password. The same applies to variables and flags, which win over files.',
  jwt_keys:
    'Keys that verify JWTs at the document door: hmac:<kid>, rsa:<kid>, ec:<kid>, eddsa:<kid> or jwks:<name> = key.',
  jwt_key_limits:
    'What tokens may say that a key verifies: hmac:<kid>, rsa:<kid>, ec:<kid> or eddsa:<kid> = words. names= lists the names that are accepted, roles= the roles that are kept, each whole or with * at its end; _admin only if it is listed. until= is when the key expires. Without names every name is accepted, without roles none is kept. A key without a line has no limits. While a key has none, a line without its key prevents a start.',
  services:
    'Applications behind the doors: name = /mount http://host:port, then words. document and multi-model name its doors (without either: multi-model); user rejects anonymous requests; required also users without a grant on _system; preflight lets the application answer CORS preflights.',
}
