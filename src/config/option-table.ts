// The table. Everything about an option is in its row, and its name is its place: `[section] key` in a file,
// `--section.key` as a flag, `CARDEA_SECTION__KEY` in the environment. No default is written anywhere else.
import {
  auditDestinations,
  bindAddress,
  collectorUrl,
  cookieDomain,
  endpoints,
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
  matching,
  methods,
  oneOf,
  path,
  seconds,
  secretText,
  signingSecret,
  size,
  text,
  timer,
  whole,
  words,
} from './codecs.ts'

export interface Option<T> {
  readonly codec: Codec<T>
  readonly initial: T
  /** `live` takes effect on reload, `restart` only at the next start. A row that leaves it out is live. */
  readonly reload: 'live' | 'restart'
  /** What it does, in one short sentence. */
  readonly help: string
  /** Further sentences. */
  readonly details?: string
  readonly secret?: true
  /** Why it cannot be changed at run time: a clause after "because". */
  readonly fixed?: string
}

/** A row as the table writes it: a default that the codec does not accept does not compile. */
export type Row<T> = Omit<Option<T>, 'initial' | 'reload'> & {
  readonly initial: NoInfer<T>
  readonly reload?: Option<T>['reload']
}

export const option = <T>(row: Row<T>): Option<T> => Object.freeze({ reload: 'live', ...row })

/** Reasons why options cannot be changed at run time. */
export const FIXED = {
  audit: 'it decides which evidence is kept of what administrators do',
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

const wireName = matching('letters, digits and -, beginning with a letter', /^[A-Za-z][A-Za-z0-9-]{0,63}$/)
const hsts = matching(
  'max-age=SECONDS, then ; includeSubDomains and ; preload if wanted',
  /^(?:|max-age=\d{1,10}(?:; ?includeSubDomains)?(?:; ?preload)?)$/i,
)
const version = matching('a version such as 3.5.2', /^[0-9A-Za-z][0-9A-Za-z.+_-]{0,63}$/)

const LISTENER_NAME = /^(?:document|multi-model|admin|metrics)$/

export const OPTIONS = {
  chttpd: {
    bind_address: option({
      codec: bindAddress,
      initial: '127.0.0.1',
      reload: 'restart',
      help: 'Address the document door listens on.',
      details: 'any means all addresses.',
    }),
    port: option({
      codec: port,
      initial: 5984,
      reload: 'restart',
      help: 'Port of the document door.',
      details: '0 chooses a free port; none switches the door off.',
    }),
    trusted_proxies: option({
      codec: peers,
      initial: ['loopback'],
      help: 'Peers whose forwarded headers and proxy-authentication headers are trusted.',
      details: 'loopback means 127.0.0.0/8, ::1 and Unix sockets; none trusts no peer.',
    }),
    forwarded_headers: option({
      codec: oneOf(['auto', 'x-forwarded', 'forwarded']),
      initial: 'auto',
      help: 'Which headers of a trusted proxy name the client.',
      details: 'auto uses X-Forwarded-* if present, otherwise Forwarded.',
    }),
    authentication_handlers: option({
      codec: handlers,
      initial: ['jwt', 'proxy', 'cookie', 'default'],
      help: 'Credential handlers of the document door, in order.',
      details: 'The first handler that recognises a credential decides. The tuple syntax of CouchDB is accepted too.',
    }),
    require_valid_user: option({ codec: boolean, initial: false, help: 'Reject anonymous requests.' }),
    require_valid_user_except_for_up: option({
      codec: boolean,
      initial: false,
      help: 'Reject anonymous requests, except to /_up.',
    }),
    'WWW-Authenticate': option({
      codec: headerValue,
      initial: '',
      help: 'Value of the WWW-Authenticate header of every 401 response.',
      details: 'If empty, the header is sent only where CouchDB sends it.',
    }),
    admin_only_all_dbs: option({
      codec: boolean,
      initial: true,
      help: 'Allow /_all_dbs and /_dbs_info to administrators only.',
    }),
    enable_cors: option({
      codec: boolean,
      initial: false,
      help: 'Handle cross-origin requests, as section [cors] says.',
    }),
    max_uri_length: option({
      codec: whole(0),
      initial: 0,
      help: 'Maximum length of a request target, in characters.',
      details: '0 means that only door.max-uri-bytes applies.',
    }),
    max_http_request_size: option({
      codec: size(1),
      initial: 4_294_967_296,
      help: 'Maximum size of a request body, in bytes.',
      details: 'For requests forwarded to CouchDB it applies only if it is set: CouchDB has a limit of its own.',
    }),
    validate_host: option({ codec: boolean, initial: false, help: 'Accept only the Host headers of valid_hosts.' }),
    valid_hosts: option({
      codec: words('host names separated by commas', /^[^\s\x00-\x1f\x7f]+$/),
      initial: [],
      help: 'Hosts accepted if validate_host is true, without port.',
    }),
    x_forwarded_host: option({
      codec: headerName(),
      initial: 'X-Forwarded-Host',
      help: 'Header in which a trusted proxy sends the original Host.',
    }),
    x_forwarded_proto: option({
      codec: headerName(),
      initial: 'X-Forwarded-Proto',
      help: 'Header in which a trusted proxy sends the original scheme.',
    }),
    x_forwarded_ssl: option({
      codec: headerName(),
      initial: 'X-Forwarded-Ssl',
      help: 'Header that a trusted proxy sets to "on" if the client used TLS.',
    }),
    peer_header: option({
      codec: headerName('optional'),
      initial: '',
      help: 'Header in which a trusted proxy sends the address of the client.',
      details: 'If empty, the forwarded headers are used.',
    }),
    server_header_versions: option({ codec: boolean, initial: true, help: 'Include versions in the Server header.' }),
  },

  chttpd_auth: {
    secret: option({
      codec: signingSecret(SECRET_BYTES),
      initial: '',
      help: 'Signs session cookies and proxy tokens.',
      details:
        'If empty, a random secret is created and kept in the store. After a change, cookies signed with the old secret are accepted for one more timeout, at most an hour; proxy tokens are not. PUT with ?grace=0 rejects both at once.',
      secret: true,
    }),
    timeout: option({
      codec: whole(1),
      initial: 600,
      help: 'Seconds after its last request at which a cookie session expires.',
    }),
    max_lifetime: option({
      codec: whole(0),
      initial: 0,
      help: 'Seconds after its sign-in at which a session ends, however often it is used. 0 means never.',
      details:
        'At both doors and at /_cardea/. A lower value applies to existing sessions too. While it is set, a session whose sign-in time is unknown is not renewed: a cookie that CouchDB issued, or one that a program opened without the password.',
    }),
    max_sessions: option({
      codec: whole(0),
      initial: 0,
      help: 'Sessions that one user can have at a time; a further sign-in ends the oldest. 0 means unlimited.',
      details:
        'Counts the sessions of both doors and of /_cardea/ together. Sessions opened with an access token, with a JWT, or without the password are counted apart from those opened with the password, so that they cannot end them. Lists of sessions show the newest 1000 of each user.',
    }),
    allow_persistent_cookies: option({
      codec: boolean,
      initial: true,
      help: 'Send Max-Age and Expires with the cookie, so that browsers keep it when they restart.',
    }),
    cookie_domain: option({
      codec: cookieDomain,
      initial: '',
      help: 'Domain attribute of the AuthSession cookie.',
      details: 'If empty, the cookie is sent only to the host that set it.',
    }),
    cookie_host_prefix: option({
      codec: boolean,
      initial: false,
      help: 'Name the cookie __Host-AuthSession for clients that use TLS.',
      details:
        'Browsers accept this name from no other host. Clients that look for AuthSession do not find it. Without TLS the name stays AuthSession.',
    }),
    same_site: option({
      codec: oneOf(['', 'none', 'lax', 'strict']),
      initial: '',
      help: 'SameSite attribute of the AuthSession cookie.',
      details: 'If empty, the attribute is omitted.',
    }),
    auth_cache_size: option({
      codec: whole(0),
      initial: 10_000,
      help: 'Number of users and of verified passwords cached in memory.',
    }),
    authentication_redirect: option({
      codec: matching(
        'a path of this server beginning with one /, or nothing',
        /^(?:\/(?![/\\])[\x21-\x5b\x5d-\x7e]*)?$/,
      ),
      initial: '',
      help: 'Redirect target of a successful POST /_session.',
      details: 'Applies to clients that list text/html in Accept. If empty, there is no redirect.',
    }),
    hash_algorithms: option({
      codec: digests,
      initial: ['sha256', 'sha'],
      help: 'HMAC algorithms of cookies and proxy tokens.',
      details:
        'The first signs, all verify. The first must be available on this machine (GET /_node/_local/_versions lists them); others that are not available are skipped with a warning.',
    }),
    iterations: option({
      codec: whole(1, MAX_ITERATIONS),
      initial: 600_000,
      help: 'PBKDF2 iterations of new password hashes.',
    }),
    min_iterations: option({
      codec: whole(1, MAX_ITERATIONS),
      initial: 1,
      help: 'Minimum PBKDF2 iterations a user can sign in with.',
      details: 'A user whose hash has fewer is rejected after the password was verified.',
    }),
    max_iterations: option({
      codec: whole(1, MAX_ITERATIONS),
      initial: MAX_ITERATIONS,
      help: 'Maximum PBKDF2 iterations a user can sign in with.',
      details:
        'A user whose hash has more is rejected after the password was verified; with more than ten times as many, before. Administrator hashes with more cannot be set. Whatever the value, a hash that costs more than 6000000 iterations of PBKDF2 with SHA-256 and more than ten times a new hash cannot be set and is never verified.',
    }),
    password_scheme: option({
      codec: oneOf(['pbkdf2', 'simple']),
      initial: 'pbkdf2',
      help: 'How new passwords are hashed.',
      details: 'simple is a single SHA-1, for old clients only.',
    }),
    pbkdf2_prf: option({
      codec: oneOf(['sha', 'sha224', 'sha256', 'sha384', 'sha512']),
      initial: 'sha256',
      help: 'Hash function of PBKDF2 for new password hashes.',
    }),
    upgrade_hash_on_auth: option({
      codec: boolean,
      initial: true,
      help: 'Rehash a stored password with the current parameters at the next sign-in.',
      details: 'A stronger hash is never replaced by a weaker one.',
    }),
    password_regexp: option({
      codec: text,
      initial: '',
      help: 'Regular expressions a new password must all match.',
      details:
        'A list: ["regex", {"regex", "reason"}]. The syntax is RE2: no back references and no look-around, except (?=…) and (?!…) directly after a leading ^. Write each requirement as an element of its own. The expressions see the UTF-8 bytes of the password.',
    }),
    proxy_use_secret: option({
      codec: boolean,
      initial: true,
      help: 'Require a token made with secret for proxy authentication.',
      details: 'If false, any of trusted_proxies can name any user.',
    }),
    x_auth_username: option({
      codec: headerName('optional'),
      initial: '',
      help: 'Header with the user name in proxy authentication.',
      details: 'If empty, X-Auth-<document.name>-UserName.',
    }),
    x_auth_roles: option({
      codec: headerName('optional'),
      initial: '',
      help: 'Header with the roles in proxy authentication.',
      details: 'If empty, X-Auth-<document.name>-Roles.',
    }),
    x_auth_token: option({
      codec: headerName('optional'),
      initial: '',
      help: 'Header with the token in proxy authentication.',
      details: 'If empty, X-Auth-<document.name>-Token.',
    }),
    public_fields: option({
      codec: words('names of members separated by commas', /^[^\x00-\x1f\x7f]+$/),
      initial: [],
      help: 'Fields of user documents that other users may read.',
      details: 'Applies if users_db_public is true.',
    }),
    users_db_public: option({
      codec: boolean,
      initial: false,
      help: 'Let users read public_fields of the documents of other users.',
    }),
    authentication_db: option({
      codec: matching('_users, or a name that begins with a letter', /^(?:_users|[a-z][a-z0-9_$()+-]{0,237})$/),
      initial: '_users',
      reload: 'restart',
      help: 'Name of the users database.',
    }),
    allow_sign_up: option({
      codec: boolean,
      initial: false,
      help: 'Let clients create a user document for a name that is not taken.',
      details: 'auth.peer-sign-ups-per-hour and auth.sign-ups-per-hour limit how many.',
    }),
  },

  chttpd_auth_lockout: {
    mode: option({
      codec: oneOf(['enforce', 'warn', 'off']),
      initial: 'enforce',
      help: 'What happens after too many failed sign-ins.',
      details: 'enforce locks the account for that client address, warn only logs, off does not count.',
    }),
    threshold: option({ codec: whole(1), initial: 5, help: 'Failed sign-ins after which an account is locked.' }),
    max_objects: option({
      codec: whole(1),
      initial: 10_000,
      help: 'Number of failure counters kept, of each kind.',
      details: 'If the limit is reached, counters with the fewest failures are dropped first.',
    }),
    max_lifetime: option({
      codec: whole(1),
      initial: 300_000,
      help: 'Milliseconds after the first failure at which a counter is dropped.',
    }),
  },

  jwt_auth: {
    required_claims: option({
      codec: requiredClaims,
      initial: [{ name: 'exp' }],
      help: 'Claims every JWT must have.',
      details: '{name, "value"} requires that value.',
    }),
    roles_claim_name: option({
      codec: deprecated(text, 'deprecated since CouchDB 3.3; use roles_claim_path, with \\. for a dot in a name'),
      initial: '',
      help: 'Deprecated: use roles_claim_path.',
      details:
        'Top-level claim with the roles. If empty, _<document.name in lower case>.roles. Ignored if roles_claim_path is set.',
    }),
    roles_claim_path: option({
      codec: text,
      initial: '',
      help: 'Path to the claim with the roles.',
      details: 'A dot separates levels; \\. is a dot in a name.',
    }),
  },

  cors: {
    origins: option({
      codec: origins,
      initial: [],
      help: 'Accepted origins.',
      details: '* accepts all origins, and requires credentials = false.',
    }),
    credentials: option({
      codec: boolean,
      initial: false,
      help: 'Allow cross-origin requests with cookies and Authorization.',
    }),
    methods: option({
      codec: methods,
      initial: ['CONNECT', 'COPY', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'TRACE'],
      help: 'Methods a preflight may request.',
    }),
    headers: option({
      codec: headerNames,
      initial: [
        'accept',
        'accept-language',
        'authorization',
        'content-length',
        'content-range',
        'content-type',
        'destination',
        'expires',
        'if-match',
        'last-modified',
        'origin',
        'pragma',
        'x-couch-full-commit',
        'x-couch-id',
        'x-couch-persist',
        'x-couchdb-www-authenticate',
        'x-http-method-override',
        'x-requested-with',
        'x-couchdb-vhost-path',
      ],
      help: 'Headers a preflight may request.',
    }),
    exposed_headers: option({
      codec: headerNames,
      initial: [
        'accept-ranges',
        'etag',
        'server',
        'x-couch-request-id',
        'x-couch-update-newrev',
        'x-couchdb-body-time',
      ],
      help: 'Response headers that scripts of another origin may read.',
    }),
    max_age: option({
      codec: whole(0),
      initial: 600,
      help: 'Seconds a browser may cache the response to a preflight.',
    }),
  },

  couchdb: {
    uuid: option({
      codec: matching('32 hexadecimal digits, or nothing', /^(?:[0-9a-fA-F]{32})?$/),
      initial: '',
      help: 'Identifier that GET / returns.',
      details: 'If empty, a random one is created and kept in the store.',
    }),
    maintenance_mode: option({
      codec: oneOf(['false', 'true', 'nolb']),
      initial: 'false',
      help: 'Make /_up return 404, so that load balancers stop sending requests.',
      details: 'true and nolb have the same effect.',
    }),
    users_db_deletable: option({
      codec: boolean,
      initial: false,
      help: 'Allow DELETE /_users.',
      details: 'It deletes every user; the database itself stays.',
    }),
  },

  ssl: {
    enable: option({
      codec: boolean,
      initial: false,
      reload: 'restart',
      help: 'Let the document door also listen with TLS.',
      fixed: FIXED.listener,
    }),
    port: option({
      codec: port,
      initial: 6984,
      reload: 'restart',
      help: 'TLS port of the document door.',
      details: '0 chooses a free port; none switches it off.',
      fixed: FIXED.listener,
    }),
    cert_file: option({
      codec: path,
      initial: '',
      help: 'PEM file with the certificate of the document door and its chain.',
      details: 'A changed file is used for new connections within seconds.',
      fixed: FIXED.file,
    }),
    key_file: option({
      codec: path,
      initial: '',
      help: 'PEM file with the private key of the document door.',
      fixed: FIXED.file,
    }),
    keyfile: option({
      codec: path,
      initial: '',
      help: 'PEM file with the certificate and private key of ssl:// endpoints.',
      details: 'A changed file is used for new connections within seconds.',
      fixed: FIXED.file,
    }),
    'client-ca': option({
      codec: path,
      initial: '',
      reload: 'restart',
      help: 'PEM file with the authorities of client certificates: the TLS listeners of both doors then accept them.',
      details:
        'The common name of a certificate is the name of a user. A changed file is used within seconds, without a restart.',
      fixed: FIXED.file,
    }),
    'client-crl': option({
      codec: path,
      initial: '',
      reload: 'restart',
      help: 'PEM file with the revocation lists of the authorities in ssl.client-ca.',
      details:
        'Every authority needs a list that is not out of date. A changed file is used within seconds, without a restart.',
      fixed: FIXED.file,
    }),
    'min-version': option({
      codec: oneOf(['1.2', '1.3']),
      initial: '1.2',
      help: 'Oldest TLS version that both doors accept.',
      fixed: FIXED.listener,
    }),
    hsts: option({
      codec: hsts,
      initial: '',
      help: 'Value of the Strict-Transport-Security header of responses to clients that use TLS.',
      details:
        'For example max-age=31536000; includeSubDomains. Browsers then use only TLS for this host, on every port. Empty means no header.',
      fixed: FIXED.transport,
    }),
    'cipher-list': option({
      codec: text,
      initial: '',
      help: 'Ciphers of both doors, in the format of OpenSSL.',
      details: 'Empty means those of Node. Names that begin with TLS_ are for TLS 1.3.',
      fixed: FIXED.listener,
    }),
  },

  server: {
    endpoint: option({
      codec: endpoints,
      initial: [{ kind: 'tcp', host: '127.0.0.1', port: 8529 }],
      reload: 'restart',
      help: 'Where the multi-model door listens.',
      details: 'Several endpoints are separated by commas; none switches the door off.',
      fixed: FIXED.listener,
    }),
    authentication: option({ codec: boolean, initial: true, help: 'Require credentials at the multi-model door.' }),
    'authentication-system-only': option({
      codec: boolean,
      initial: true,
      help: 'Require credentials only for paths under /_.',
      details: 'false requires them for every path.',
    }),
    'authentication-unix-sockets': option({
      codec: boolean,
      initial: true,
      help: 'Require credentials for requests over Unix sockets.',
    }),
    'authentication-timeout': option({
      codec: seconds(0, 'zero'),
      initial: 0,
      help: 'Seconds a verified Basic password is cached.',
      details: '0 means until the user changes.',
    }),
    'session-timeout': option({
      codec: seconds(1),
      initial: 3600,
      help: 'Lifetime in seconds of a token from POST /_open/auth.',
    }),
    'jwt-secret': option({
      codec: secretText(TOKEN_SECRET_BYTES),
      initial: '',
      reload: 'restart',
      help: 'Secret that signs and verifies tokens.',
      details: 'A file is safer: see jwt-secret-keyfile. If no secret is set, a random one is created at each start.',
      secret: true,
      fixed: FIXED.secret,
    }),
    'jwt-secret-keyfile': option({
      codec: path,
      initial: '',
      reload: 'restart',
      help: 'File with the secret that signs and verifies tokens.',
      fixed: FIXED.file,
    }),
    'jwt-secret-folder': option({
      codec: path,
      initial: '',
      reload: 'restart',
      help: 'Folder with several secrets: the first by name signs, all verify.',
      fixed: FIXED.file,
    }),
    'jwt-secret-watch': option({
      codec: boolean,
      initial: false,
      reload: 'restart',
      help: 'Read that file or folder again when it changes.',
      fixed: FIXED.file,
    }),
    role: option({
      codec: oneOf(['single', 'dbserver', 'agent']),
      initial: 'single',
      reload: 'restart',
      help: 'Role of this server: dbserver and agent accept superuser tokens only.',
    }),
    harden: option({ codec: boolean, initial: false, help: 'Show versions and statistics to administrators only.' }),
  },

  auth: {
    'minimal-jwt-expiry-time': option({
      codec: seconds(1),
      initial: 10,
      help: 'Minimum lifetime in seconds a client may request at POST /_open/auth.',
    }),
    'maximal-jwt-expiry-time': option({
      codec: seconds(1),
      initial: 3600,
      help: 'Maximum lifetime in seconds a client may request at POST /_open/auth.',
    }),
    'min-password-length': option({
      codec: whole(0, 256),
      initial: 0,
      help: 'Minimum length of a new password, in characters.',
      details: 'Applies to users and administrators; characters are Unicode code points. 0 switches the rule off.',
    }),
    'reauthenticate-after': option({
      codec: seconds(0, 'zero'),
      initial: 0,
      help: 'Seconds after a sign-in from which changes to the own account need the current password.',
      details:
        'Concerns the own password, second factor and access tokens, and deleting or deactivating the own account. 0 means never.',
    }),
    'account-failures': option({
      codec: whole(0),
      initial: 20,
      help: 'Failed password checks of one account, from all addresses, before the response is 429.',
      details: '0 switches the limit off.',
    }),
    'account-failures-per-minute': option({
      codec: whole(1),
      initial: 1,
      help: 'Failures of an account that are forgotten each minute.',
    }),
    'peer-failures': option({
      codec: whole(0),
      initial: 100,
      help: 'Failed password checks from one address, for all accounts, before the response is 429.',
      details: 'IPv6 addresses are counted by /64 network. 0 switches the limit off.',
    }),
    'peer-failures-per-minute': option({
      codec: whole(1),
      initial: 10,
      help: 'Failures of an address that are forgotten each minute.',
    }),
    'peer-sign-ups-per-hour': option({
      codec: whole(0),
      initial: 10,
      help: 'Users that clients of one address may create in an hour, before the response is 429.',
      details:
        'For chttpd_auth.allow_sign_up; administrators are not limited. IPv6 addresses are counted by /64 network. 0 switches the limit off.',
    }),
    'sign-ups-per-hour': option({
      codec: whole(0),
      initial: 1000,
      help: 'Users that clients of all addresses may create in an hour, before the response is 429.',
      details: '0 switches the limit off.',
    }),
  },

  admin: {
    endpoint: option({
      codec: endpoints,
      initial: [],
      reload: 'restart',
      help: 'Additional listener for /_cardea/ and /.well-known/jwks.json only.',
      details:
        'Independent of the authentication options of the doors. ssl:// needs ssl.keyfile. Several endpoints are separated by commas; none switches it off.',
      fixed: FIXED.listener,
    }),
    'session-timeout': option({
      codec: seconds(1),
      initial: 3600,
      help: 'Seconds after its last request at which a session at /_cardea/ expires.',
    }),
    'reauthenticate-after': option({
      codec: seconds(0, 'zero'),
      initial: 900,
      help: 'Like auth.reauthenticate-after, for requests to /_cardea/.',
      details: '0 means never.',
    }),
    'user-admin-role': option({
      codec: text,
      initial: '',
      help: 'Role of users who may manage other users at /_cardea/.',
      details:
        'They may manage users who are not administrators and have no more roles and grants than they have. Empty: only administrators manage users.',
    }),
  },

  console: {
    'public-url': option({
      codec: publicUrl,
      initial: '',
      help: 'URL at which users reach the console, without /_cardea/.',
      details:
        'For example https://db.example.com. Links to set a password begin with it. Empty: the server returns such a link as a path only.',
    }),
  },

  http: {
    'trusted-origin': option({
      codec: trustedOrigins,
      initial: [],
      help: 'Origins whose requests to the multi-model door may carry credentials.',
      details: '* or all trusts every origin.',
    }),
    'return-queue-time-header': option({
      codec: boolean,
      initial: true,
      help: 'Send the queue time header with responses of the multi-model door.',
    }),
  },

  document: {
    name: option({
      codec: wireName,
      initial: 'CouchDB',
      reload: 'restart',
      help: 'Product name that clients of the document door see.',
      details: 'Used in X-Auth-<name>-*, _<name>.roles and org.<name>.user:.',
    }),
    version: option({
      codec: version,
      initial: '3.5.2',
      reload: 'restart',
      help: 'API version that clients of the document door see.',
    }),
  },

  'multi-model': {
    name: option({
      codec: wireName,
      initial: 'ArangoDB',
      reload: 'restart',
      help: 'Product name that clients of the multi-model door see.',
      details: 'It is the realm and, in lower case, the issuer of tokens.',
    }),
    version: option({
      codec: version,
      initial: '3.12.5',
      reload: 'restart',
      help: 'API version that clients of the multi-model door see.',
    }),
    'web-ui-before-login': option({
      codec: boolean,
      initial: false,
      help: "Serve the files of ArangoDB's web interface without a credential.",
      details:
        'Needed to reach its login page. Applies to GET and HEAD below /_admin/aardvark/; they are forwarded without any identity.',
    }),
  },

  node: {
    name: option({
      codec: matching('name@host', /^[A-Za-z0-9_.-]+@[A-Za-z0-9_.:-]+$/),
      initial: 'cardea@127.0.0.1',
      reload: 'restart',
      help: 'Name of this node in /_node/{name}.',
    }),
  },

  door: {
    'max-connections': option({
      codec: whole(1),
      initial: 10_000,
      reload: 'restart',
      help: 'Maximum number of open connections, for each listener.',
    }),
    'proxy-protocol': option({
      codec: words('listeners separated by commas: document, multi-model, admin, metrics', LISTENER_NAME),
      initial: [],
      reload: 'restart',
      help: 'Listeners whose connections begin with a header of the PROXY protocol, version 1 or 2.',
      details:
        'The header names the client, and is accepted from chttpd.trusted_proxies only. With TLS it comes before the handshake. A connection without a valid header is closed. Empty: no listener expects one.',
    }),
    'max-connections-per-client': option({
      codec: whole(1),
      initial: 1000,
      help: 'Maximum number of open connections of one client, for each listener.',
      details:
        'A client is an IPv4 address or a /64 network of IPv6. A connection of one of chttpd.trusted_proxies does not count; each request on it counts for the client that the proxy names, until it is answered.',
    }),
    'max-uri-bytes': option({
      codec: size(256, 16_777_216),
      initial: 16_384,
      help: 'Maximum size of a request target.',
    }),
    'max-header-bytes': option({
      codec: size(1024, 16_777_216),
      initial: 65_536,
      reload: 'restart',
      help: 'Maximum size of request line and headers together.',
    }),
    'max-headers': option({
      codec: whole(10, 2000),
      initial: 200,
      reload: 'restart',
      help: 'Maximum number of header lines of a request.',
    }),
    'max-body-bytes': option({
      codec: size(1024),
      initial: 8_388_608,
      help: 'Maximum size of a request body that Cardea itself reads.',
      details: 'Lower limits apply to user documents (1 MiB), anonymous requests (128 KiB) and sign-in (16 KiB).',
    }),
    'max-json-items': option({
      codec: whole(1000, 10_000_000),
      initial: 250_000,
      help: 'Maximum number of members and elements of a JSON body, all together.',
      details: 'A larger body is rejected with 413. Lower limits apply to users (10000) and anonymous requests (2000).',
    }),
    'header-timeout': option({
      codec: timer(),
      initial: 10,
      reload: 'restart',
      help: 'Seconds within which the headers of a request must arrive.',
    }),
    'body-timeout': option({
      codec: timer(),
      initial: 30,
      help: 'Seconds without a byte of the request body after which the request is aborted.',
    }),
    'body-deadline': option({
      codec: timer(),
      initial: 300,
      help: 'Seconds within which a body that Cardea itself reads must arrive.',
    }),
    'write-timeout': option({
      codec: timer(),
      initial: 60,
      help: 'Seconds without progress in sending a response after which the connection is closed.',
    }),
    'keep-alive-timeout': option({
      codec: timer(),
      initial: 65,
      reload: 'restart',
      help: 'Seconds an idle connection is kept open.',
    }),
    'stop-timeout': option({
      codec: timer('zero'),
      initial: 10,
      help: 'Seconds that running requests may take to finish when the server stops.',
    }),
  },

  hashing: {
    queue: option({
      codec: whole(1),
      initial: 1000,
      help: 'Maximum number of passwords waiting to be hashed.',
      details:
        'More are rejected with 503. If the queue is full, the client with the most waiting passwords loses one to a client with fewer.',
    }),
  },

  store: {
    url: option({
      codec: storeUrl,
      initial: 'sqlite:data/cardea.db',
      reload: 'restart',
      help: 'Where users, sessions and settings are stored.',
      details: 'The value is hidden if it can contain a password.',
      secret: true,
      fixed: FIXED.store,
    }),
    'max-staleness': option({
      codec: seconds(0),
      initial: 60,
      help: 'Seconds a node keeps working with cached users while the store is unreachable.',
      fixed: FIXED.staleness,
    }),
  },

  upstream: {
    document: option({
      codec: serverUrls,
      initial: [],
      help: 'URL of the CouchDB server behind the document door.',
      details: 'Several URLs are tried in order if one fails.',
      fixed: FIXED.gateway,
    }),
    'document-identity': option({
      codec: oneOf(['jwt', 'proxy']),
      initial: 'jwt',
      help: 'How CouchDB learns the user: jwt sends a signed token, proxy sends proxy-authentication headers.',
      fixed: FIXED.gateway,
    }),
    'document-secret': option({
      codec: secretText(SECRET_BYTES),
      initial: '',
      help: 'Secret shared with CouchDB.',
      secret: true,
      fixed: FIXED.gateway,
    }),
    'document-rewrites': option({
      codec: boolean,
      initial: true,
      help: 'Forward requests to _rewrite to CouchDB.',
      details:
        'The design document chooses the target, so Cardea can authorise only the path that was sent. If false, they are rejected with 403. Requests of administrators are always rejected with 403.',
      fixed: FIXED.gateway,
    }),
    'multi-model': option({
      codec: serverUrls,
      initial: [],
      help: 'URL of the ArangoDB server behind the multi-model door.',
      details: 'Several URLs are tried in order if one fails.',
      fixed: FIXED.gateway,
    }),
    'multi-model-identity': option({
      codec: oneOf(['user', 'client']),
      initial: 'user',
      help: 'How ArangoDB learns the user: user sends a token that Cardea signs, client sends what the client sent.',
      fixed: FIXED.gateway,
    }),
    'multi-model-secret-keyfile': option({
      codec: path,
      initial: '',
      reload: 'restart',
      help: 'File with the secret that signs tokens for ArangoDB.',
      fixed: FIXED.gateway,
    }),
    'multi-model-secret-folder': option({
      codec: path,
      initial: '',
      reload: 'restart',
      help: 'Folder with several secrets for ArangoDB: the first by name signs.',
      fixed: FIXED.gateway,
    }),
    'multi-model-admin': option({
      codec: text,
      initial: 'root',
      help: 'ArangoDB user that administrators act as.',
      details: 'No other user is ever forwarded under this name.',
      fixed: FIXED.gateway,
    }),
    'connect-timeout': option({
      codec: timer(),
      initial: 10,
      help: 'Seconds to wait for a connection to an upstream server.',
      details: 'Then the next server is tried, or the response is 504.',
      fixed: FIXED.gateway,
    }),
    'first-byte-timeout': option({
      codec: timer('zero'),
      initial: 300,
      help: 'Seconds from the end of a request to the first byte of the response; then 504.',
      details: 'Change feeds are exempt. 0 means no limit.',
      fixed: FIXED.gateway,
    }),
    'idle-timeout': option({
      codec: timer('zero'),
      initial: 300,
      help: 'Seconds without progress after which a forwarded request is aborted.',
      details:
        'While the request body is sent, the response is 504; during the response, the connection is closed. Change feeds are exempt. 0 means no limit.',
      fixed: FIXED.gateway,
    }),
    'spool-bytes': option({
      codec: size(0),
      initial: 16_777_216,
      help: 'Maximum size of a chunked request body to ArangoDB.',
      details: 'ArangoDB accepts no chunked bodies, so Cardea collects them. A larger body is rejected with 413.',
      fixed: FIXED.gateway,
    }),
    'spool-total-bytes': option({
      codec: size(0),
      initial: 268_435_456,
      help: 'Maximum memory for all collected bodies together.',
      details: 'Beyond it, requests are rejected with 503 and Retry-After.',
      fixed: FIXED.gateway,
    }),
    'ca-file': option({
      codec: path,
      initial: '',
      help: 'PEM file with the certificate authorities for upstream servers, instead of those of the system.',
      fixed: FIXED.gateway,
    }),
    sandbox: option({
      codec: boolean,
      initial: true,
      help: 'Send Content-Security-Policy: sandbox with HTML, SVG and XML from upstream servers.',
      details: 'It is added to policies that the responses have. /_utils/ and /_admin/aardvark/ are exempt.',
      fixed: FIXED.gateway,
    }),
    'service-keyfile': option({
      codec: path,
      initial: '',
      reload: 'restart',
      help: 'PEM file with the private key (P-256) that signs tokens for services.',
      details: 'If empty, a key is created at each start. Several nodes need the same key.',
      fixed: FIXED.gateway,
    }),
  },

  audit: {
    keep: option({
      codec: whole(0, 36_500),
      initial: 30,
      help: 'Days that the store keeps audit records. 0 means forever.',
      fixed: FIXED.audit,
    }),
    'key-file': option({
      codec: path,
      initial: '',
      reload: 'restart',
      help: 'PEM file with the private key (Ed25519) that signs the checkpoints of the audit trail.',
      details:
        'The newest checkpoint is kept in the store and beside this file, in a file whose name ends with .checkpoint. If empty, nothing is signed, and audit verify cannot find out whether the newest records were removed.',
      fixed: FIXED.audit,
    }),
    destinations: option({
      codec: auditDestinations,
      initial: [],
      reload: 'restart',
      help: 'Where audit records are copied to, besides the store.',
      details:
        'file:PATH and stdout write one JSON object per line; syslog+tcp://HOST:PORT sends messages of RFC 5424; http(s)://… is a webhook. Several are separated by commas.',
      secret: true,
      fixed: FIXED.audit,
    }),
    'file-size': option({
      codec: size(1000),
      initial: 100_000_000,
      reload: 'restart',
      help: 'Size in bytes above which an audit file is rotated.',
      details:
        'The file becomes PATH.1, the one before PATH.2. After a rotation by another program, reload with SIGHUP.',
      fixed: FIXED.audit,
    }),
    'file-count': option({
      codec: whole(1, 1000),
      initial: 10,
      reload: 'restart',
      help: 'Number of rotated audit files that are kept.',
      fixed: FIXED.audit,
    }),
    'webhook-key-file': option({
      codec: path,
      initial: '',
      reload: 'restart',
      help: 'File with the secret that signs the requests of a webhook.',
      details: 'Needed for http:// and https:// in audit.destinations. White space around the secret is ignored.',
      fixed: FIXED.audit,
    }),
    'on-failure': option({
      codec: oneOf(['continue', 'refuse']),
      initial: 'continue',
      help: 'While audit records cannot be written: continue, or refuse changes and new sign-ins.',
      details:
        'refuse responds with 503 to changes of users, administrators, settings and secrets, and to sign-ins. Existing sessions are served, and sessions can be ended. To leave it, change the file and reload.',
      fixed: FIXED.audit,
    }),
  },

  metrics: {
    endpoint: option({
      codec: endpoints,
      initial: [],
      reload: 'restart',
      help: 'Listener for the metrics only, open to every client that can reach it.',
      details:
        'Prometheus reads /metrics there. ssl:// needs ssl.keyfile. Several endpoints are separated by commas; none switches it off. At the doors, /_cardea/metrics needs an administrator or the role _metrics.',
      fixed: FIXED.listener,
    }),
  },

  tracing: {
    endpoint: option({
      codec: collectorUrl,
      initial: '',
      reload: 'restart',
      help: 'Collector of OpenTelemetry that gets the traces of requests, by OTLP over HTTP in JSON.',
      details:
        'Empty means no traces. Without a path, /v1/traces is used. Headers for the collector are in the variable OTEL_EXPORTER_OTLP_HEADERS.',
      fixed: FIXED.gateway,
    }),
    'sample-percent': option({
      codec: whole(0, 100),
      initial: 100,
      reload: 'restart',
      help: 'How many of 100 traces that begin here are recorded.',
      details: 'A traceparent header of the client decides for its own trace.',
    }),
  },

  log: {
    level: option({
      codec: oneOf(['debug', 'info', 'warn', 'error'], {
        notice: 'info',
        warning: 'warn',
        err: 'error',
        critical: 'error',
        crit: 'error',
        alert: 'error',
        emergency: 'error',
        emerg: 'error',
      }),
      initial: 'info',
      help: 'Minimum level of logged messages.',
    }),
    format: option({
      codec: oneOf(['auto', 'text', 'json']),
      initial: 'auto',
      reload: 'restart',
      help: 'Format of log lines: auto writes text to a terminal and JSON elsewhere.',
    }),
    access: option({
      codec: boolean,
      initial: false,
      help: 'Log one line for each request.',
      details: 'At level info: method, path without the query, status, bytes, duration, user and request id.',
    }),
  },
} as const

export type Section = keyof typeof OPTIONS

/** Sections whose keys the administrator chooses. */
export const OPEN_SECTIONS = ['admins', 'jwt_keys', 'services'] as const
export type OpenSection = (typeof OPEN_SECTIONS)[number]

/** A description of each section. */
export const SECTIONS: Readonly<Record<Section | OpenSection, string>> = {
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
  document: 'Product name and version of the document door.',
  'multi-model': 'Product name and version of the multi-model door.',
  node: 'The name of this node.',
  door: 'Limits and timeouts of both doors.',
  hashing: 'Password hashing.',
  store: 'The store of users, sessions and settings.',
  upstream: 'The databases and services behind the doors.',
  audit: 'The audit trail.',
  metrics: 'Metrics for Prometheus.',
  tracing: 'Traces for OpenTelemetry.',
  log: 'Logging.',
  admins:
    'Administrators at both doors: name = password. Plain-text passwords are hashed at start, and the file is rewritten. The file should have mode 600, or 640 if the server reads it by its group; otherwise start and config check warn. Removing a line removes the administrator. A password changed at run time wins over the line, until the line has another plain-text password. The same applies to variables and flags, which win over files.',
  jwt_keys:
    'Keys that verify JWTs at the document door: hmac:<kid>, rsa:<kid>, ec:<kid>, eddsa:<kid> or jwks:<name> = key.',
  services:
    'Applications behind the multi-model door: name = /mount http://host:port [required] [preflight]. required rejects anonymous requests in every mode; preflight lets the application answer CORS preflights.',
}
