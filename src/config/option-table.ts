// The table. Everything about an option is in its row, and its name is its place: `[section] key` in a file,
// `--section.key` as a flag, `CARDEA_SECTION__KEY` in the environment. No default stands anywhere else.
import {
  bindAddress,
  cookieDomain,
  endpoints,
  origins,
  peers,
  port,
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
  /** `live` takes effect on reload, `restart` only at the next start. */
  readonly reload: 'live' | 'restart'
  readonly help: string
  readonly secret?: true
  /** Whether it can be set over HTTP. */
  readonly http: boolean
}

/** A row as the table writes it: a default outside the codec's words does not compile. */
export type Row<T> = Omit<Option<T>, 'initial' | 'http'> & { readonly initial: NoInfer<T>; readonly http?: boolean }

export const option = <T>(row: Row<T>): Option<T> => Object.freeze({ http: true, ...row })

const MAX_ITERATIONS = 1_000_000_000
const SECRET_BYTES = 4096
/** What the multi-model database allows an HMAC secret. */
const TOKEN_SECRET_BYTES = 64

const wireName = matching('letters, digits and -, beginning with a letter', /^[A-Za-z][A-Za-z0-9-]{0,63}$/)
const version = matching('a version such as 3.5.2', /^[0-9A-Za-z][0-9A-Za-z.+_-]{0,63}$/)

export const OPTIONS = {
  chttpd: {
    bind_address: option({
      codec: bindAddress,
      initial: '127.0.0.1',
      reload: 'restart',
      help: 'Address the document door listens on; any means all of them.',
    }),
    port: option({
      codec: port,
      initial: 5984,
      reload: 'restart',
      help: 'Port of the document door. 0 takes any free one, none switches it off.',
    }),
    trusted_proxies: option({
      codec: peers,
      initial: ['loopback'],
      reload: 'live',
      help: 'Peers whose forwarded headers and proxy-authentication headers are believed. loopback means 127.0.0.0/8, ::1 and Unix sockets; none believes nobody.',
    }),
    forwarded_headers: option({
      codec: oneOf(['auto', 'x-forwarded', 'forwarded']),
      initial: 'auto',
      reload: 'live',
      help: 'Which headers a trusted proxy speaks through. auto takes X-Forwarded-* where present, else Forwarded.',
    }),
    authentication_handlers: option({
      codec: handlers,
      initial: ['jwt', 'proxy', 'cookie', 'default'],
      reload: 'live',
      help: 'Who looks for a credential at the document door, in order; the first that accepts one wins. The tuples of the document database are read too.',
    }),
    require_valid_user: option({
      codec: boolean,
      initial: false,
      reload: 'live',
      help: 'Whether anonymous requests are refused.',
    }),
    require_valid_user_except_for_up: option({
      codec: boolean,
      initial: false,
      reload: 'live',
      help: 'Whether anonymous requests are refused, except to /_up.',
    }),
    'WWW-Authenticate': option({
      codec: headerValue,
      initial: '',
      reload: 'live',
      help: 'Challenge sent with every 401 of the document door; empty leaves it to the other rules.',
    }),
    admin_only_all_dbs: option({
      codec: boolean,
      initial: true,
      reload: 'live',
      help: 'Whether /_all_dbs and /_dbs_info need an administrator.',
    }),
    enable_cors: option({
      codec: boolean,
      initial: false,
      reload: 'live',
      help: 'Whether the document door answers cross-origin requests itself, by section [cors].',
    }),
    max_uri_length: option({
      codec: whole(0),
      initial: 0,
      reload: 'live',
      help: 'Longest request target at the document door, in characters; 0 leaves only door.max-uri-bytes.',
    }),
    max_http_request_size: option({
      codec: size(1),
      initial: 4_294_967_296,
      reload: 'live',
      help: 'Largest request body at the document door, in bytes. What is passed on to a database behind it is bound by this only where it is given: the database has a limit of its own.',
    }),
    validate_host: option({
      codec: boolean,
      initial: false,
      reload: 'live',
      help: 'Whether the Host header must be one of valid_hosts.',
    }),
    valid_hosts: option({
      codec: words('host names separated by commas', /^[^\s\x00-\x1f\x7f]+$/),
      initial: [],
      reload: 'live',
      help: 'Hosts accepted when validate_host is true, without port.',
    }),
    x_forwarded_host: option({
      codec: headerName(),
      initial: 'X-Forwarded-Host',
      reload: 'live',
      help: 'Header in which a trusted proxy tells the host the client asked for.',
    }),
    x_forwarded_proto: option({
      codec: headerName(),
      initial: 'X-Forwarded-Proto',
      reload: 'live',
      help: 'Header in which a trusted proxy tells the scheme the client used.',
    }),
    x_forwarded_ssl: option({
      codec: headerName(),
      initial: 'X-Forwarded-Ssl',
      reload: 'live',
      help: 'Header in which a trusted proxy says "on" where the client used TLS.',
    }),
    peer_header: option({
      codec: headerName('optional'),
      initial: '',
      reload: 'live',
      help: "Header in which a trusted proxy tells the client's address; empty uses the forwarded headers.",
    }),
    server_header_versions: option({
      codec: boolean,
      initial: true,
      reload: 'live',
      help: 'Whether the Server header of the document door tells versions.',
    }),
  },

  chttpd_auth: {
    secret: option({
      codec: signingSecret(SECRET_BYTES),
      initial: '',
      reload: 'live',
      help: 'Signs cookies and proxy tokens. Empty: one is made at random and kept. After a change, cookies made with the old one verify for one more timeout, at most an hour; proxy tokens do not. PUT …?grace=0 refuses both at once.',
      secret: true,
    }),
    timeout: option({
      codec: whole(1),
      initial: 600,
      reload: 'live',
      help: 'Seconds since the last request after which a cookie session ends.',
    }),
    allow_persistent_cookies: option({
      codec: boolean,
      initial: true,
      reload: 'live',
      help: 'Whether the cookie has Max-Age and Expires, so that browsers keep it when they restart.',
    }),
    cookie_domain: option({
      codec: cookieDomain,
      initial: '',
      reload: 'live',
      help: 'Domain attribute of the AuthSession cookie; empty leaves it to the host that set it.',
    }),
    same_site: option({
      codec: oneOf(['', 'none', 'lax', 'strict']),
      initial: '',
      reload: 'live',
      help: 'SameSite attribute of the AuthSession cookie; empty leaves it out.',
    }),
    auth_cache_size: option({
      codec: whole(0),
      initial: 10_000,
      reload: 'live',
      help: 'How many users and verified passwords are remembered in memory.',
    }),
    authentication_redirect: option({
      codec: matching(
        'a path of this server beginning with one /, or nothing',
        /^(?:\/(?![/\\])[\x21-\x5b\x5d-\x7e]*)?$/,
      ),
      initial: '',
      reload: 'live',
      help: 'Where a successful POST /_session leads clients that list text/html in Accept; empty: nowhere.',
    }),
    hash_algorithms: option({
      codec: digests,
      initial: ['sha256', 'sha'],
      reload: 'live',
      help: 'HMAC algorithms of cookies and proxy tokens. The first signs, all verify. The first must be one that this machine offers (GET /_node/_local/_versions lists them); others it does not offer are left out with a warning.',
    }),
    iterations: option({
      codec: whole(1, MAX_ITERATIONS),
      initial: 600_000,
      reload: 'live',
      help: 'PBKDF2 iterations of newly hashed passwords.',
    }),
    min_iterations: option({
      codec: whole(1, MAX_ITERATIONS),
      initial: 1,
      reload: 'live',
      help: 'A user whose password was hashed with fewer iterations is refused once the password was verified.',
    }),
    max_iterations: option({
      codec: whole(1, MAX_ITERATIONS),
      initial: MAX_ITERATIONS,
      reload: 'live',
      help: 'A user whose password was hashed with more iterations is refused once the password was verified; with more than ten times as many, always. Stored administrator hashes with more cannot be set. Whatever this says, a hash that costs more than 6000000 iterations of PBKDF2 with SHA-256, and more than ten times a new one, cannot be set and never verifies.',
    }),
    password_scheme: option({
      codec: oneOf(['pbkdf2', 'simple']),
      initial: 'pbkdf2',
      reload: 'live',
      help: 'How new passwords are hashed. simple is a single SHA-1, for old clients only.',
    }),
    pbkdf2_prf: option({
      codec: oneOf(['sha', 'sha224', 'sha256', 'sha384', 'sha512']),
      initial: 'sha256',
      reload: 'live',
      help: 'Hash inside PBKDF2 of newly hashed passwords.',
    }),
    upgrade_hash_on_auth: option({
      codec: boolean,
      initial: true,
      reload: 'live',
      help: 'Whether a stored password is hashed as configured at the next sign-in. A stronger hash is never replaced by a weaker one.',
    }),
    password_regexp: option({
      codec: text,
      initial: '',
      reload: 'live',
      help: 'Regular expressions a new password must all match: ["regex", {"regex", "reason"}]. The syntax is RE2: no back references and no look-around, except (?=…) and (?!…) right after a leading ^; write each demand as an element of its own. They see the bytes of the password in UTF-8.',
    }),
    proxy_use_secret: option({
      codec: boolean,
      initial: true,
      reload: 'live',
      help: 'Whether proxy authentication needs a token made with secret. Without it only trusted_proxies are believed.',
    }),
    x_auth_username: option({
      codec: headerName('optional'),
      initial: '',
      reload: 'live',
      help: 'Header with the user name in proxy authentication; empty means X-Auth-<document.name>-UserName.',
    }),
    x_auth_roles: option({
      codec: headerName('optional'),
      initial: '',
      reload: 'live',
      help: 'Header with the roles in proxy authentication; empty means X-Auth-<document.name>-Roles.',
    }),
    x_auth_token: option({
      codec: headerName('optional'),
      initial: '',
      reload: 'live',
      help: 'Header with the token in proxy authentication; empty means X-Auth-<document.name>-Token.',
    }),
    public_fields: option({
      codec: words('names of members separated by commas', /^[^\x00-\x1f\x7f]+$/),
      initial: [],
      reload: 'live',
      help: 'Members of user documents that others may read, when users_db_public is true.',
    }),
    users_db_public: option({
      codec: boolean,
      initial: false,
      reload: 'live',
      help: 'Whether users may read public_fields of the documents of others.',
    }),
    authentication_db: option({
      codec: matching('_users, or a name that begins with a letter', /^(?:_users|[a-z][a-z0-9_$()+-]{0,237})$/),
      initial: '_users',
      reload: 'restart',
      help: 'Name of the database of users.',
    }),
    allow_sign_up: option({
      codec: boolean,
      initial: false,
      reload: 'live',
      help: 'Whether anybody may create a user document for a name not yet taken.',
    }),
  },

  chttpd_auth_lockout: {
    mode: option({
      codec: oneOf(['enforce', 'warn', 'off']),
      initial: 'enforce',
      reload: 'live',
      help: 'Whether too many failures lock an account for its peer, are only logged, or are not counted.',
    }),
    threshold: option({
      codec: whole(1),
      initial: 5,
      reload: 'live',
      help: 'Failures after which an account is locked.',
    }),
    max_objects: option({
      codec: whole(1),
      initial: 10_000,
      reload: 'live',
      help: 'How many counters of failures are kept, of each kind. When they are full, those with the fewest failures go first.',
    }),
    max_lifetime: option({
      codec: whole(1),
      initial: 300_000,
      reload: 'live',
      help: 'Milliseconds from the first failure until its counter is dropped.',
    }),
  },

  jwt_auth: {
    required_claims: option({
      codec: requiredClaims,
      initial: [{ name: 'exp' }],
      reload: 'live',
      help: 'Claims every JWT at the document door must have; {name, "value"} asks for that value.',
    }),
    roles_claim_name: option({
      codec: deprecated(text, 'deprecated since CouchDB 3.3; use roles_claim_path, with \\. for a dot in a name'),
      initial: '',
      reload: 'live',
      help: 'Deprecated: use roles_claim_path. Top-level claim with the roles; empty means _<document.name in lower case>.roles. Ignored when roles_claim_path is set.',
    }),
    roles_claim_path: option({
      codec: text,
      initial: '',
      reload: 'live',
      help: 'Path to the claim with the roles. A dot separates levels, \\. is a dot inside a name.',
    }),
  },

  cors: {
    origins: option({
      codec: origins,
      initial: [],
      reload: 'live',
      help: 'Origins accepted at the document door; * accepts all, and then credentials must be false.',
    }),
    credentials: option({
      codec: boolean,
      initial: false,
      reload: 'live',
      help: 'Whether cross-origin requests may carry cookies and Authorization.',
    }),
    methods: option({
      codec: methods,
      initial: ['CONNECT', 'COPY', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'TRACE'],
      reload: 'live',
      help: 'Methods a preflight may ask for.',
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
      reload: 'live',
      help: 'Headers a preflight may ask for.',
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
      reload: 'live',
      help: 'Response headers scripts of another origin may read.',
    }),
    max_age: option({
      codec: whole(0),
      initial: 600,
      reload: 'live',
      help: 'Seconds a browser may remember the answer to a preflight.',
    }),
  },

  couchdb: {
    uuid: option({
      codec: matching('32 hexadecimal digits, or nothing', /^(?:[0-9a-fA-F]{32})?$/),
      initial: '',
      reload: 'live',
      help: 'Identifier told by GET / of the document door; empty: one is made at random and kept.',
    }),
    maintenance_mode: option({
      codec: oneOf(['false', 'true', 'nolb']),
      initial: 'false',
      reload: 'live',
      help: 'true and nolb make /_up answer 404, so that load balancers send nobody here.',
    }),
    users_db_deletable: option({
      codec: boolean,
      initial: false,
      reload: 'live',
      help: 'Whether DELETE /_users is allowed. It deletes every user; the database itself stays.',
    }),
  },

  ssl: {
    enable: option({
      codec: boolean,
      initial: false,
      reload: 'restart',
      help: 'Whether the document door also listens with TLS.',
      http: false,
    }),
    port: option({
      codec: port,
      initial: 6984,
      reload: 'restart',
      help: 'TLS port of the document door. 0 takes any free one, none switches it off.',
      http: false,
    }),
    cert_file: option({
      codec: path,
      initial: '',
      reload: 'restart',
      help: 'PEM file with the certificate of the document door, and its chain.',
      http: false,
    }),
    key_file: option({
      codec: path,
      initial: '',
      reload: 'restart',
      help: 'PEM file with the private key of the document door.',
      http: false,
    }),
    keyfile: option({
      codec: path,
      initial: '',
      reload: 'restart',
      help: 'PEM file with the certificate and private key of the multi-model door.',
      http: false,
    }),
  },

  server: {
    endpoint: option({
      codec: endpoints,
      initial: [{ kind: 'tcp', host: '127.0.0.1', port: 8529 }],
      reload: 'restart',
      help: 'Where the multi-model door listens: tcp://, ssl:// or unix://; several are allowed, none switches it off.',
      http: false,
    }),
    authentication: option({
      codec: boolean,
      initial: true,
      reload: 'live',
      help: 'Whether the multi-model door asks for credentials at all.',
    }),
    'authentication-system-only': option({
      codec: boolean,
      initial: true,
      reload: 'live',
      help: 'Whether only paths under /_ need a credential; false asks for one everywhere.',
    }),
    'authentication-unix-sockets': option({
      codec: boolean,
      initial: true,
      reload: 'live',
      help: 'Whether requests over Unix sockets need a credential too.',
    }),
    'authentication-timeout': option({
      codec: seconds(0, 'zero'),
      initial: 0,
      reload: 'live',
      help: 'Seconds a verified Basic password is remembered at the multi-model door; 0 means until the user changes.',
    }),
    'session-timeout': option({
      codec: seconds(1),
      initial: 3600,
      reload: 'live',
      help: 'Lifetime in seconds of a token issued by POST /_open/auth.',
    }),
    'jwt-secret': option({
      codec: secretText(TOKEN_SECRET_BYTES),
      initial: '',
      reload: 'restart',
      help: 'Secret that signs and verifies tokens of the multi-model door. A file is safer: see jwt-secret-keyfile. None at all: one is made at random at start.',
      secret: true,
      http: false,
    }),
    'jwt-secret-keyfile': option({
      codec: path,
      initial: '',
      reload: 'restart',
      help: 'File with that secret.',
      http: false,
    }),
    'jwt-secret-folder': option({
      codec: path,
      initial: '',
      reload: 'restart',
      help: 'Folder with several: the first by name signs, all verify.',
      http: false,
    }),
    'jwt-secret-watch': option({
      codec: boolean,
      initial: false,
      reload: 'restart',
      help: 'Whether that file or folder is read anew when it changes.',
      http: false,
    }),
    role: option({
      codec: oneOf(['single', 'dbserver', 'agent']),
      initial: 'single',
      reload: 'restart',
      help: 'dbserver and agent accept superuser tokens only.',
    }),
    harden: option({
      codec: boolean,
      initial: false,
      reload: 'live',
      help: 'Whether versions and statistics are shown to administrators only.',
    }),
  },

  auth: {
    'minimal-jwt-expiry-time': option({
      codec: seconds(1),
      initial: 10,
      reload: 'live',
      help: 'Shortest lifetime in seconds a client may ask for at POST /_open/auth.',
    }),
    'maximal-jwt-expiry-time': option({
      codec: seconds(1),
      initial: 3600,
      reload: 'live',
      help: 'Longest lifetime in seconds a client may ask for at POST /_open/auth.',
    }),
    'min-password-length': option({
      codec: whole(0, 256),
      initial: 0,
      reload: 'live',
      help: 'Fewest characters (Unicode code points) of a new password of a user or administrator. 0 switches the rule off.',
    }),
    'reauthenticate-after': option({
      codec: seconds(0, 'zero'),
      initial: 0,
      reload: 'live',
      help: 'Seconds after a sign-in until changes of the own password, second factor and access tokens, and deletion or deactivation of the own account, need the current password as well. 0 means never.',
    }),
    'account-failures': option({
      codec: whole(0),
      initial: 20,
      reload: 'live',
      help: 'Failed password checks of one account, from all addresses together, before further ones are answered 429. 0 switches the limit off.',
    }),
    'account-failures-per-minute': option({
      codec: whole(1),
      initial: 1,
      reload: 'live',
      help: 'Failures of an account that are forgiven each minute.',
    }),
    'peer-failures': option({
      codec: whole(0),
      initial: 100,
      reload: 'live',
      help: 'Failed password checks of one address, for all names together, before further ones are answered 429. An IPv6 address counts by its /64. 0 switches the limit off.',
    }),
    'peer-failures-per-minute': option({
      codec: whole(1),
      initial: 10,
      reload: 'live',
      help: 'Failures of an address that are forgiven each minute.',
    }),
  },

  admin: {
    endpoint: option({
      codec: endpoints,
      initial: [],
      reload: 'restart',
      help: "A listener for Cardea's own paths alone: /_cardea/ and /.well-known/jwks.json, whatever the doors ask for. tcp://, ssl:// (with ssl.keyfile) or unix://; several are allowed, none switches it off.",
      http: false,
    }),
    'session-timeout': option({
      codec: seconds(1),
      initial: 3600,
      reload: 'live',
      help: 'Seconds since the last request after which a session at /_cardea/ is over.',
    }),
    'reauthenticate-after': option({
      codec: seconds(0, 'zero'),
      initial: 900,
      reload: 'live',
      help: 'The same as auth.reauthenticate-after, for requests to /_cardea/. 0 means never.',
    }),
  },

  http: {
    'trusted-origin': option({
      codec: trustedOrigins,
      initial: [],
      reload: 'live',
      help: 'Origins whose cross-origin requests to the multi-model door may carry credentials; * or all trusts everybody.',
    }),
    'return-queue-time-header': option({
      codec: boolean,
      initial: true,
      reload: 'live',
      help: 'Whether answers of the multi-model door tell the time spent waiting.',
    }),
  },

  document: {
    name: option({
      codec: wireName,
      initial: 'CouchDB',
      reload: 'restart',
      help: 'Name clients of the document door know: in X-Auth-<name>-*, _<name>.roles, org.<name>.user:.',
    }),
    version: option({
      codec: version,
      initial: '3.5.2',
      reload: 'restart',
      help: 'The API version told to clients of the document door.',
    }),
  },

  'multi-model': {
    name: option({
      codec: wireName,
      initial: 'ArangoDB',
      reload: 'restart',
      help: 'Name clients of the multi-model door know: the realm and, in lower case, the issuer of tokens.',
    }),
    version: option({
      codec: version,
      initial: '3.12.5',
      reload: 'restart',
      help: 'The API version told to clients of the multi-model door.',
    }),
    'web-ui-before-login': option({
      codec: boolean,
      initial: false,
      reload: 'live',
      help: 'Whether the files of the web interface of the database (GET and HEAD below /_admin/aardvark/) load without a credential, so that its login page can be reached. They are requested from the database without any identity.',
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
      help: 'Connections open at once, for each listener.',
    }),
    'max-uri-bytes': option({
      codec: size(256, 16_777_216),
      initial: 16_384,
      reload: 'live',
      help: 'Longest request target.',
    }),
    'max-header-bytes': option({
      codec: size(1024, 16_777_216),
      initial: 65_536,
      reload: 'restart',
      help: 'Largest request head: request line and headers together.',
    }),
    'max-headers': option({
      codec: whole(10, 2000),
      initial: 200,
      reload: 'restart',
      help: 'Header lines a request may have.',
    }),
    'max-body-bytes': option({
      codec: size(1024),
      initial: 8_388_608,
      reload: 'live',
      help: 'Largest body of a request that Cardea itself answers. Smaller limits hold for users (1 MiB), anonymous requests (128 KiB) and sign-in (16 KiB).',
    }),
    'max-json-items': option({
      codec: whole(1000, 10_000_000),
      initial: 250_000,
      reload: 'live',
      help: 'Members and elements that a JSON body may have, all of them together. Larger: 413.',
    }),
    'header-timeout': option({
      codec: timer(),
      initial: 10,
      reload: 'restart',
      help: 'Seconds within which the headers of a request must have arrived.',
    }),
    'body-timeout': option({
      codec: timer(),
      initial: 30,
      reload: 'live',
      help: 'Seconds without a byte of the body after which a request is given up.',
    }),
    'body-deadline': option({
      codec: timer(),
      initial: 300,
      reload: 'live',
      help: 'Seconds within which a body that Cardea itself reads must have arrived.',
    }),
    'write-timeout': option({
      codec: timer(),
      initial: 60,
      reload: 'live',
      help: 'Seconds a client may take no byte of an answer that waits for it; then its connection is cut.',
    }),
    'keep-alive-timeout': option({
      codec: timer(),
      initial: 65,
      reload: 'restart',
      help: 'Seconds an idle connection is kept.',
    }),
    'stop-timeout': option({
      codec: timer('zero'),
      initial: 10,
      reload: 'live',
      help: 'Seconds running requests are given when the server stops.',
    }),
  },

  hashing: {
    queue: option({
      codec: whole(1),
      initial: 1000,
      reload: 'live',
      help: 'Passwords that may wait to be hashed; more are answered 503. When all places are taken, the client with the most waiting gives one up for a client with fewer.',
    }),
  },

  store: {
    url: option({
      codec: storeUrl,
      initial: 'sqlite:data/cardea.db',
      reload: 'restart',
      help: 'Where users, sessions and settings are kept: sqlite:path or postgres://…. Not shown where it may hold a password.',
      secret: true,
      http: false,
    }),
    'max-staleness': option({
      codec: seconds(0),
      initial: 60,
      reload: 'live',
      help: 'Seconds a node lives on what it knows when the store cannot be reached.',
      http: false,
    }),
  },

  upstream: {
    document: option({
      codec: serverUrls,
      initial: [],
      reload: 'live',
      help: 'The document database behind the document door; several for fail-over.',
      http: false,
    }),
    'document-identity': option({
      codec: oneOf(['jwt', 'proxy']),
      initial: 'jwt',
      reload: 'live',
      help: 'How that database is told who is asking: by a signed token, or by its proxy headers.',
      http: false,
    }),
    'document-secret': option({
      codec: secretText(SECRET_BYTES),
      initial: '',
      reload: 'live',
      help: 'Secret shared with that database.',
      secret: true,
      http: false,
    }),
    'document-rewrites': option({
      codec: boolean,
      initial: true,
      reload: 'live',
      help: 'Whether requests to _rewrite are forwarded to that database. The design document decides where they lead, so Cardea authorises only the path that was sent. false: 403. Requests of administrators are always 403.',
      http: false,
    }),
    'multi-model': option({
      codec: serverUrls,
      initial: [],
      reload: 'live',
      help: 'The multi-model database behind the multi-model door; several for fail-over.',
      http: false,
    }),
    'multi-model-identity': option({
      codec: oneOf(['user', 'client']),
      initial: 'user',
      reload: 'live',
      help: 'Whether that database is told who is asking by a token Cardea signs, or by what the client sent.',
      http: false,
    }),
    'multi-model-secret-keyfile': option({
      codec: path,
      initial: '',
      reload: 'restart',
      help: 'File with the secret that signs for that database.',
      http: false,
    }),
    'multi-model-secret-folder': option({
      codec: path,
      initial: '',
      reload: 'restart',
      help: 'Folder with several: the first by name signs.',
      http: false,
    }),
    'multi-model-admin': option({
      codec: text,
      initial: 'root',
      reload: 'live',
      help: 'User of that database an administrator becomes. No other user is ever given this name.',
      http: false,
    }),
    'connect-timeout': option({
      codec: timer(),
      initial: 10,
      reload: 'live',
      help: 'Seconds until a connection to a server behind a door must stand; then another is tried, or the answer is 504.',
      http: false,
    }),
    'first-byte-timeout': option({
      codec: timer('zero'),
      initial: 300,
      reload: 'live',
      help: 'Seconds such a server may take from the end of a request to the beginning of its answer, feeds excepted; then it is 504. 0: any.',
      http: false,
    }),
    'idle-timeout': option({
      codec: timer('zero'),
      initial: 300,
      reload: 'live',
      help: 'Seconds within which such a server must go on: with an answer, or the connection is cut; with taking a body, or it is 504. Feeds excepted. 0: any.',
      http: false,
    }),
    'spool-bytes': option({
      codec: size(0),
      initial: 16_777_216,
      reload: 'live',
      help: 'Largest body sent in pieces that is put together for the multi-model database, which takes none in pieces. Larger: 413.',
      http: false,
    }),
    'spool-total-bytes': option({
      codec: size(0),
      initial: 268_435_456,
      reload: 'live',
      help: 'How much all bodies that are put together may take at once. More: 503, with Retry-After.',
      http: false,
    }),
    'ca-file': option({
      codec: path,
      initial: '',
      reload: 'live',
      help: 'Certificates (PEM) of the authorities that vouch for servers behind the doors, instead of those of the system.',
      http: false,
    }),
    sandbox: option({
      codec: boolean,
      initial: true,
      reload: 'live',
      help: 'Whether HTML, SVG and XML of the databases behind the doors gets Content-Security-Policy: sandbox where it has no policy for scripts of its own. /_utils/ and /_admin/aardvark/ never do.',
      http: false,
    }),
    'service-keyfile': option({
      codec: path,
      initial: '',
      reload: 'restart',
      help: 'Private key (PEM, P-256) that signs for services. Without it one is made at start; several nodes need one in common.',
      http: false,
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
      reload: 'live',
      help: 'What is logged: this level and everything more serious.',
    }),
    format: option({
      codec: oneOf(['auto', 'text', 'json']),
      initial: 'auto',
      reload: 'restart',
      help: 'Form of log lines. auto writes text to a terminal and JSON elsewhere.',
    }),
  },
} as const

export type Section = keyof typeof OPTIONS

/** Sections whose keys are of the user's making. */
export const OPEN_SECTIONS = ['admins', 'jwt_keys', 'services'] as const
export type OpenSection = (typeof OPEN_SECTIONS)[number]

/** A sentence for each section. */
export const SECTIONS: Readonly<Record<Section | OpenSection, string>> = {
  chttpd: 'The document door: where it listens, whom it believes, whom it lets in.',
  chttpd_auth: 'Cookies, passwords, proxy authentication and user documents of the document door.',
  chttpd_auth_lockout: 'Accounts that are locked for a while after too many failures, at both doors.',
  jwt_auth: 'Tokens accepted at the document door.',
  cors: 'Cross-origin requests to the document door.',
  couchdb: 'What the document door tells about itself.',
  ssl: 'Certificates of both doors.',
  server: 'The multi-model door: where it listens, what needs a credential, how tokens are signed.',
  auth: 'Limits on failed password checks and changes of the own account at both doors, and lifetimes clients of the multi-model door may ask for.',
  admin: "Cardea's own paths: /_cardea/ and its sessions.",
  http: 'HTTP at the multi-model door.',
  document: 'The database whose clients the document door speaks to.',
  'multi-model': 'The database whose clients the multi-model door speaks to.',
  node: 'This process among others.',
  door: 'Limits of both doors.',
  hashing: 'Work on passwords.',
  store: 'Where users, sessions and settings are kept.',
  upstream: 'The databases behind the doors.',
  log: 'The log.',
  admins:
    'Administrators, at both doors: name = password. A password in clear is hashed at start, and the file rewritten. Others must not be able to read or write the file (mode 600, or 640 for the group of the server): a start and config check warn. Whose line is gone is gone; what was changed at run time wins over the line.',
  jwt_keys:
    'Keys that verify tokens at the document door: hmac:<kid>, rsa:<kid>, ec:<kid>, eddsa:<kid> or jwks:<name> = key.',
  services:
    'Applications behind the multi-model door: name = /mount http://host:port, then required to ask for a credential whatever the mode, and preflight to let the application answer CORS preflights.',
}
