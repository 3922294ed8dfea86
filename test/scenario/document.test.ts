import { ADMIN, basic, runScenarios, type Scenario } from '../support/scenario.ts'

const CORS = { chttpd: { enable_cors: true }, cors: { origins: 'https://app.example', credentials: true } }
const REQUIRED = { chttpd: { require_valid_user: true } }
const EXCEPT_UP = { chttpd: { require_valid_user_except_for_up: true } }
const NOT_ADMIN = { error: 'unauthorized', reason: 'You are not a server admin.' }
const REQUIRED_BODY = { error: 'unauthorized', reason: 'Authentication required.' }
const WRONG = { error: 'unauthorized', reason: 'Name or password is incorrect.' }
const BAD_BASE64 = { error: 'bad_request', reason: 'Authorization header has invalid base64 value' }
const ANONYMOUS = {
  ok: true,
  userCtx: { name: null, roles: [] },
  info: { authentication_handlers: ['jwt', 'proxy', 'cookie', 'default'] },
}
const SIGNED_IN = {
  ok: true,
  userCtx: { name: 'admin', roles: ['_admin'] },
  info: { authentication_handlers: ['jwt', 'proxy', 'cookie', 'default'], authenticated: 'default' },
}
const origin = { Origin: 'https://app.example' }
const preflight = {
  ...origin,
  'Access-Control-Request-Method': 'POST',
  'Access-Control-Request-Headers': 'content-type',
}

const SCENARIOS: Scenario[] = [
  {
    name: 'GET / welcomes',
    send: { path: '/' },
    status: 200,
    json: {
      couchdb: 'Welcome',
      version: '3.5.2',
      uuid: '0'.repeat(32),
      features: [],
      vendor: { name: 'Cardea', version: '0.1.0' },
    },
  },
  {
    name: 'standing headers',
    send: { path: '/_up' },
    status: 200,
    headers: {
      'cache-control': 'must-revalidate',
      'content-type': 'application/json',
      server: /^CouchDB\/3\.5\.2 \(Cardea\/[\d.]+\)$/,
      'x-couch-request-id': /^[0-9a-f]{10}$/,
      'x-couchdb-body-time': '0',
      date: /GMT$/,
      'content-length': '27',
    },
    text: '{"status":"ok","seeds":{}}\n',
  },
  {
    name: 'a server that tells no versions',
    options: { chttpd: { server_header_versions: false } },
    send: { path: '/_up' },
    status: 200,
    headers: { server: 'CouchDB' },
  },
  {
    name: 'another name on the wire',
    options: { document: { name: 'OtherDB' } },
    send: { path: '/_up' },
    status: 200,
    headers: { server: /^OtherDB\//, 'x-otherdb-body-time': '0' },
  },
  {
    name: "the client's own request id",
    send: { path: '/_up', headers: { 'X-Couch-Request-ID': 'my_own-ID' } },
    status: 200,
    headers: { 'x-couch-request-id': 'my_own-ID' },
  },
  {
    name: 'a request id with foreign characters is not taken',
    send: { path: '/_up', headers: { 'X-Couch-Request-ID': 'a b' } },
    status: 200,
    headers: { 'x-couch-request-id': /^[0-9a-f]{10}$/ },
  },
  {
    name: 'a request id that is too long is not taken',
    send: { path: '/_up', headers: { 'X-Couch-Request-ID': 'a'.repeat(37) } },
    status: 200,
    headers: { 'x-couch-request-id': /^[0-9a-f]{10}$/ },
  },
  {
    name: 'maintenance',
    options: { couchdb: { maintenance_mode: 'true' } },
    send: { path: '/_up' },
    status: 404,
    json: { status: 'maintenance_mode' },
  },
  {
    name: 'no load balancing',
    options: { couchdb: { maintenance_mode: 'nolb' } },
    send: { path: '/_up' },
    status: 404,
    json: { status: 'nolb' },
  },
  {
    name: '405 says what is allowed',
    send: { method: 'PUT', path: '/_up' },
    status: 405,
    headers: { allow: 'GET,HEAD' },
    json: { error: 'method_not_allowed', reason: 'Only GET,HEAD allowed' },
  },
  {
    name: 'OPTIONS without CORS is an ordinary request',
    send: { method: 'OPTIONS', path: '/' },
    status: 405,
    headers: { allow: 'GET,HEAD' },
  },
  {
    name: 'X-HTTP-Method-Override is rejected',
    send: { method: 'POST', path: '/_up', headers: { 'X-HTTP-Method-Override': 'GET' } },
    status: 400,
    json: {
      error: 'bad_request',
      reason: 'Headers that override the method are not accepted. Send the method itself.',
    },
  },
  {
    name: 'a database that is not there',
    send: { path: '/nothing' },
    status: 404,
    json: { error: 'not_found', reason: 'Database does not exist.' },
  },
  {
    name: 'a path of an administrator, for one',
    send: { path: '/_nothing', headers: ADMIN },
    status: 404,
    json: { error: 'not_found', reason: 'missing' },
  },
  {
    name: 'a path of an administrator, for nobody',
    send: { path: '/_nothing' },
    status: 401,
    headers: { 'www-authenticate': undefined },
    json: NOT_ADMIN,
  },
  { name: 'the list of databases is for administrators', send: { path: '/_all_dbs' }, status: 401, json: NOT_ADMIN },
  { name: 'what follows /_up is not open', send: { path: '/_up/x' }, status: 401, json: NOT_ADMIN },
  { name: 'a query does not open a path', send: { path: '/_nothing?x=/_up' }, status: 401, json: NOT_ADMIN },
  {
    name: 'replicating is for who is signed in',
    send: { method: 'POST', path: '/_replicate' },
    status: 401,
    json: { error: 'unauthorized', reason: 'You are not an authenticated user' },
  },
  {
    name: 'metrics are for administrators and who reads metrics',
    send: { path: '/_node/_local/_stats' },
    status: 401,
    json: { error: 'unauthorized', reason: 'You are not a server admin or read-only metrics user' },
  },
  { name: 'the console of the database has no rule', send: { path: '/_utils/' }, status: 404 },
  { name: 'the console is for reading', send: { method: 'PUT', path: '/_utils/x' }, status: 401, json: NOT_ADMIN },
  {
    name: 'making a database is for administrators',
    send: { method: 'PUT', path: '/db' },
    status: 401,
    json: NOT_ADMIN,
  },
  {
    name: 'bad encoding in the path',
    send: { path: '/db/%zz' },
    status: 400,
    json: { error: 'bad_request', reason: 'invalid_url_encoding' },
  },
  {
    name: 'bad encoding in the query',
    send: { path: '/_up?x=%' },
    status: 400,
    json: { error: 'bad_request', reason: 'invalid_url_encoding' },
  },
  {
    name: 'a target over max_uri_length',
    options: { chttpd: { max_uri_length: 10 } },
    send: { path: '/_session?a=1' },
    status: 414,
    json: { error: 'too_long', reason: 'the request uri is too long' },
  },
  {
    name: 'a host that is not valid',
    options: { chttpd: { validate_host: true, valid_hosts: 'db.example' } },
    send: { path: '/_up', headers: { Host: 'evil.example' } },
    status: 400,
    json: { error: 'bad_request', reason: 'Invalid host header' },
  },
  {
    name: 'a valid host with a port',
    options: { chttpd: { validate_host: true, valid_hosts: 'db.example' } },
    send: { path: '/_up', headers: { Host: 'db.example:5984' } },
    status: 200,
  },

  { name: 'nobody is signed in', send: { path: '/_session' }, status: 200, json: ANONYMOUS },
  {
    name: 'Basic signs in',
    send: { path: '/_session', headers: ADMIN },
    status: 200,
    headers: { 'set-cookie': undefined },
    json: SIGNED_IN,
  },
  {
    name: 'a wrong password',
    send: { path: '/_session', headers: { Authorization: basic('admin', 'wrong') } },
    status: 401,
    json: WRONG,
  },
  {
    name: 'a wrong password at an open path',
    send: { path: '/_up', headers: { Authorization: basic('admin', 'wrong') } },
    status: 401,
    json: WRONG,
  },
  {
    name: 'an unknown user looks the same',
    send: { path: '/_session', headers: { Authorization: basic('nobody', 'wrong') } },
    status: 401,
    json: WRONG,
  },
  {
    name: 'an empty name',
    send: { path: '/_session', headers: { Authorization: basic('', 'x') } },
    status: 401,
    json: WRONG,
  },
  {
    name: 'the scheme in another spelling is no credential',
    send: { path: '/_session', headers: { Authorization: basic('admin', 'wrong').replace('Basic', 'basic') } },
    status: 200,
    json: ANONYMOUS,
  },
  {
    name: 'no colon is no credential',
    send: { path: '/_session', headers: { Authorization: 'Basic YWRtaW4=' } },
    status: 200,
    json: ANONYMOUS,
  },
  {
    name: '_:_ means nobody',
    send: { path: '/_session', headers: { Authorization: 'Basic Xzpf' } },
    status: 200,
    json: ANONYMOUS,
  },
  {
    name: 'undecodable base64',
    send: { path: '/_session', headers: { Authorization: 'Basic a-_b' } },
    status: 400,
    json: BAD_BASE64,
  },
  {
    name: 'base64 without its padding',
    send: { path: '/_session', headers: { Authorization: 'Basic YWRtaW46YQ' } },
    status: 400,
    json: BAD_BASE64,
  },
  {
    name: 'a password with colons',
    options: { admins: { colon: 'a:b:c' } },
    send: { path: '/_session', headers: { Authorization: basic('colon', 'a:b:c') } },
    status: 200,
  },
  {
    name: 'a name every object has is nobody',
    send: { path: '/_session', headers: { Authorization: basic('constructor', 'x') } },
    status: 401,
    json: WRONG,
  },
  {
    name: 'basic=true asks nobody to sign in',
    send: { path: '/_session?basic=true' },
    status: 401,
    json: { error: 'unauthorized', reason: 'Please login.' },
  },
  {
    name: 'basic=true with a name',
    send: { path: '/_session?basic=true', headers: ADMIN },
    status: 200,
    json: SIGNED_IN,
  },
  { name: 'basic=1 is nothing', send: { path: '/_session?basic=1' }, status: 200, json: ANONYMOUS },
  {
    name: 'the client chooses the challenge',
    send: { path: '/_nothing', headers: { 'X-CouchDB-WWW-Authenticate': 'Cookie' } },
    status: 401,
    headers: { 'www-authenticate': 'Cookie' },
  },
  {
    name: 'an option chooses the challenge',
    options: { chttpd: { 'WWW-Authenticate': 'Basic realm="mine"' } },
    send: { path: '/_nothing' },
    status: 401,
    headers: { 'www-authenticate': 'Basic realm="mine"' },
  },

  ...(['/', '/_up', '/_session', '/_users', '/db', '/_nothing', '/_up?x=/_session', '/_up/', '/%5Fup'] as const).map(
    (path) => ({
      name: `require_valid_user closes ${path}`,
      options: REQUIRED,
      send: { path },
      status: 401,
      headers: { 'www-authenticate': 'Basic realm="server"' },
      json: REQUIRED_BODY,
    }),
  ),
  { name: 'require_valid_user opens to a user', options: REQUIRED, send: { path: '/', headers: ADMIN }, status: 200 },
  {
    name: 'require_valid_user leaves signing in open',
    options: REQUIRED,
    send: { method: 'POST', path: '/_session' },
    status: 415,
  },
  ...(['/', '/_session', '/_users', '/db', '/_up/x', '/_uuids', '/x?y=/_up'] as const).map((path) => ({
    name: `except_for_up closes ${path}`,
    options: EXCEPT_UP,
    send: { path },
    status: 401,
    headers: { 'www-authenticate': undefined },
    json: REQUIRED_BODY,
  })),
  { name: 'except_for_up opens /_up', options: EXCEPT_UP, send: { path: '/_up' }, status: 200 },
  {
    name: 'the earlier section closes too',
    options: { httpd: { require_valid_user: true } },
    send: { path: '/' },
    status: 401,
  },

  {
    name: 'CORS: an accepted origin',
    options: CORS,
    send: { path: '/_session', headers: origin },
    status: 200,
    headers: {
      'access-control-allow-origin': 'https://app.example',
      'access-control-allow-credentials': 'true',
      'access-control-expose-headers':
        'content-type, cache-control, accept-ranges, etag, server, x-couch-request-id, x-couch-update-newrev, x-couchdb-body-time',
      vary: 'Origin',
    },
  },
  {
    name: 'CORS: errors carry it too',
    options: CORS,
    send: { path: '/_nothing', headers: origin },
    status: 401,
    headers: { 'access-control-allow-origin': 'https://app.example' },
  },
  {
    name: 'CORS: another origin gets nothing',
    options: CORS,
    send: { path: '/_session', headers: { Origin: 'https://evil.example' } },
    status: 200,
    headers: { 'access-control-allow-origin': undefined },
  },
  {
    name: 'CORS: an origin is compared letter by letter',
    options: CORS,
    send: { path: '/_session', headers: { Origin: 'https://APP.example' } },
    status: 200,
    headers: { 'access-control-allow-origin': undefined },
  },
  {
    name: 'CORS: off by default',
    send: { path: '/_session', headers: origin },
    status: 200,
    headers: { 'access-control-allow-origin': undefined },
  },
  {
    name: 'CORS: any origin, without credentials',
    options: { chttpd: { enable_cors: true }, cors: { origins: '*' } },
    send: { path: '/_session', headers: origin },
    status: 200,
    headers: { 'access-control-allow-origin': 'https://app.example', 'access-control-allow-credentials': undefined },
  },
  {
    name: 'CORS: a preflight',
    options: CORS,
    send: { method: 'OPTIONS', path: '/_session', headers: preflight },
    status: 204,
    headers: {
      'access-control-allow-origin': 'https://app.example',
      'access-control-allow-methods': 'CONNECT, COPY, DELETE, GET, HEAD, OPTIONS, POST, PUT, TRACE',
      'access-control-allow-headers': 'content-type',
      'access-control-allow-credentials': 'true',
      'access-control-max-age': '600',
      'content-type': undefined,
    },
    text: '',
  },
  {
    name: 'CORS: a preflight needs no credential',
    options: { ...CORS, chttpd: { enable_cors: true, require_valid_user: true } },
    send: { method: 'OPTIONS', path: '/_session', headers: preflight },
    status: 204,
  },
  {
    name: 'CORS: a preflight for a method nobody allows',
    options: CORS,
    send: { method: 'OPTIONS', path: '/_session', headers: { ...preflight, 'Access-Control-Request-Method': 'BREW' } },
    status: 405,
  },
  {
    name: 'CORS: a preflight for a header nobody allows',
    options: CORS,
    send: {
      method: 'OPTIONS',
      path: '/_session',
      headers: { ...preflight, 'Access-Control-Request-Headers': 'x-evil' },
    },
    status: 405,
  },
]

runScenarios('document', SCENARIOS)
