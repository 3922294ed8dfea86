import { AS_ADMIN, basic } from '../support/request.ts'
import { type Row, runRows } from '../support/rows.ts'

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

const ROWS: Row[] = [
  {
    name: 'GET / welcomes',
    path: '/',
    expect: {
      status: 200,
      json: {
        couchdb: 'Welcome',
        version: '3.5.2',
        uuid: '0'.repeat(32),
        features: [],
        vendor: { name: 'Cardea', version: '0.1.0' },
      },
    },
  },
  {
    name: 'default headers',
    path: '/_up',
    expect: {
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
  },
  {
    name: 'a server that hides its versions',
    options: { chttpd: { server_header_versions: false } },
    path: '/_up',
    expect: { status: 200, headers: { server: 'CouchDB' } },
  },
  {
    name: 'another service name',
    options: { document: { name: 'OtherDB' } },
    path: '/_up',
    expect: { status: 200, headers: { server: /^OtherDB\//, 'x-otherdb-body-time': '0' } },
  },
  {
    name: "the client's own request id",
    path: '/_up',
    headers: { 'X-Couch-Request-ID': 'my_own-ID' },
    expect: { status: 200, headers: { 'x-couch-request-id': 'my_own-ID' } },
  },
  {
    name: 'a request id with invalid characters is ignored',
    path: '/_up',
    headers: { 'X-Couch-Request-ID': 'a b' },
    expect: { status: 200, headers: { 'x-couch-request-id': /^[0-9a-f]{10}$/ } },
  },
  {
    name: 'a request id that is too long is ignored',
    path: '/_up',
    headers: { 'X-Couch-Request-ID': 'a'.repeat(37) },
    expect: { status: 200, headers: { 'x-couch-request-id': /^[0-9a-f]{10}$/ } },
  },
  {
    name: 'maintenance',
    options: { couchdb: { maintenance_mode: 'true' } },
    path: '/_up',
    expect: { status: 404, json: { status: 'maintenance_mode' } },
  },
  {
    name: 'no load balancing',
    options: { couchdb: { maintenance_mode: 'nolb' } },
    path: '/_up',
    expect: { status: 404, json: { status: 'nolb' } },
  },
  {
    name: '405 lists the allowed methods',
    method: 'PUT',
    path: '/_up',
    expect: {
      status: 405,
      headers: { allow: 'GET,HEAD' },
      json: { error: 'method_not_allowed', reason: 'Only GET,HEAD allowed' },
    },
  },
  {
    name: 'OPTIONS without CORS is an ordinary request',
    method: 'OPTIONS',
    path: '/',
    expect: { status: 405, headers: { allow: 'GET,HEAD' } },
  },
  {
    name: 'X-HTTP-Method-Override is rejected',
    method: 'POST',
    path: '/_up',
    headers: { 'X-HTTP-Method-Override': 'GET' },
    expect: {
      status: 400,
      json: {
        error: 'bad_request',
        reason: 'Headers that override the method are not accepted. Send the method itself.',
      },
    },
  },
  {
    name: 'a missing database',
    path: '/nothing',
    expect: { status: 404, json: { error: 'not_found', reason: 'Database does not exist.' } },
  },
  {
    name: 'a path for administrators, as an administrator',
    path: '/_nothing',
    as: AS_ADMIN,
    expect: { status: 404, json: { error: 'not_found', reason: 'missing' } },
  },
  {
    name: 'a path for administrators, anonymous',
    path: '/_nothing',
    expect: { status: 401, headers: { 'www-authenticate': undefined }, json: NOT_ADMIN },
  },
  { name: 'only administrators may list databases', path: '/_all_dbs', expect: { status: 401, json: NOT_ADMIN } },
  { name: 'paths below /_up are not open', path: '/_up/x', expect: { status: 401, json: NOT_ADMIN } },
  { name: 'a query does not open a path', path: '/_nothing?x=/_up', expect: { status: 401, json: NOT_ADMIN } },
  {
    name: '_replicate requires a user',
    method: 'POST',
    path: '/_replicate',
    expect: { status: 401, json: { error: 'unauthorized', reason: 'You are not an authenticated user' } },
  },
  {
    name: 'metrics require an administrator or the role _metrics',
    path: '/_node/_local/_stats',
    expect: {
      status: 401,
      json: { error: 'unauthorized', reason: 'You are not a server admin or read-only metrics user' },
    },
  },
  { name: '_utils is open', path: '/_utils/', expect: { status: 404 } },
  { name: '_utils is open for GET only', method: 'PUT', path: '/_utils/x', expect: { status: 401, json: NOT_ADMIN } },
  {
    name: 'only administrators may create a database',
    method: 'PUT',
    path: '/db',
    expect: { status: 401, json: NOT_ADMIN },
  },
  {
    name: 'invalid percent-encoding in the path',
    path: '/db/%zz',
    expect: { status: 400, json: { error: 'bad_request', reason: 'invalid_url_encoding' } },
  },
  {
    name: 'invalid percent-encoding in the query',
    path: '/_up?x=%',
    expect: { status: 400, json: { error: 'bad_request', reason: 'invalid_url_encoding' } },
  },
  {
    name: 'a target over max_uri_length',
    options: { chttpd: { max_uri_length: 10 } },
    path: '/_session?a=1',
    expect: { status: 414, json: { error: 'too_long', reason: 'the request uri is too long' } },
  },
  {
    name: 'a host that is not in valid_hosts',
    options: { chttpd: { validate_host: true, valid_hosts: 'db.example' } },
    path: '/_up',
    headers: { Host: 'evil.example' },
    expect: { status: 400, json: { error: 'bad_request', reason: 'Invalid host header' } },
  },
  {
    name: 'a valid host with a port',
    options: { chttpd: { validate_host: true, valid_hosts: 'db.example' } },
    path: '/_up',
    headers: { Host: 'db.example:5984' },
    expect: { status: 200 },
  },

  { name: 'an anonymous session', path: '/_session', expect: { status: 200, json: ANONYMOUS } },
  {
    name: 'Basic signs in',
    path: '/_session',
    as: AS_ADMIN,
    expect: { status: 200, headers: { 'set-cookie': undefined }, json: SIGNED_IN },
  },
  { name: 'a wrong password', path: '/_session', as: 'admin:wrong', expect: { status: 401, json: WRONG } },
  { name: 'a wrong password at an open path', path: '/_up', as: 'admin:wrong', expect: { status: 401, json: WRONG } },
  {
    name: 'an unknown user gets the same reply as a wrong password',
    path: '/_session',
    as: 'unknown:wrong',
    expect: { status: 401, json: WRONG },
  },
  {
    name: 'an empty name',
    path: '/_session',
    headers: { Authorization: basic('', 'x') },
    expect: { status: 401, json: WRONG },
  },
  {
    name: 'Basic in another case is ignored',
    path: '/_session',
    headers: { Authorization: basic('admin', 'wrong').replace('Basic', 'basic') },
    expect: { status: 200, json: ANONYMOUS },
  },
  {
    name: 'a value without a colon is ignored',
    path: '/_session',
    headers: { Authorization: 'Basic YWRtaW4=' },
    expect: { status: 200, json: ANONYMOUS },
  },
  {
    name: '_:_ is anonymous',
    path: '/_session',
    headers: { Authorization: 'Basic Xzpf' },
    expect: { status: 200, json: ANONYMOUS },
  },
  {
    name: 'undecodable base64',
    path: '/_session',
    headers: { Authorization: 'Basic a-_b' },
    expect: { status: 400, json: BAD_BASE64 },
  },
  {
    name: 'base64 without its padding',
    path: '/_session',
    headers: { Authorization: 'Basic YWRtaW46YQ' },
    expect: { status: 400, json: BAD_BASE64 },
  },
  {
    name: 'a password with colons',
    options: { admins: { colon: 'a:b:c' } },
    path: '/_session',
    as: 'colon:a:b:c',
    expect: { status: 200 },
  },
  {
    name: 'a property of Object.prototype is not a user',
    path: '/_session',
    as: 'constructor:x',
    expect: { status: 401, json: WRONG },
  },
  {
    name: 'basic=true rejects an anonymous request',
    path: '/_session?basic=true',
    expect: { status: 401, json: { error: 'unauthorized', reason: 'Please login.' } },
  },
  {
    name: 'basic=true with a user',
    path: '/_session?basic=true',
    as: AS_ADMIN,
    expect: { status: 200, json: SIGNED_IN },
  },
  { name: 'basic=1 is ignored', path: '/_session?basic=1', expect: { status: 200, json: ANONYMOUS } },
  {
    name: 'the client chooses the challenge',
    path: '/_nothing',
    headers: { 'X-CouchDB-WWW-Authenticate': 'Cookie' },
    expect: { status: 401, headers: { 'www-authenticate': 'Cookie' } },
  },
  {
    name: 'an option chooses the challenge',
    options: { chttpd: { 'WWW-Authenticate': 'Basic realm="mine"' } },
    path: '/_nothing',
    expect: { status: 401, headers: { 'www-authenticate': 'Basic realm="mine"' } },
  },

  ...(['/', '/_up', '/_session', '/_users', '/db', '/_nothing', '/_up?x=/_session', '/_up/', '/%5Fup'] as const).map(
    (path) => ({
      name: `require_valid_user rejects an anonymous ${path}`,
      options: REQUIRED,
      path,
      expect: { status: 401, headers: { 'www-authenticate': 'Basic realm="server"' }, json: REQUIRED_BODY },
    }),
  ),
  { name: 'require_valid_user accepts a user', options: REQUIRED, path: '/', as: AS_ADMIN, expect: { status: 200 } },
  {
    name: 'require_valid_user allows an anonymous sign-in',
    options: REQUIRED,
    method: 'POST',
    path: '/_session',
    expect: { status: 415 },
  },
  ...(['/', '/_session', '/_users', '/db', '/_up/x', '/_uuids', '/x?y=/_up'] as const).map((path) => ({
    name: `require_valid_user_except_for_up rejects an anonymous ${path}`,
    options: EXCEPT_UP,
    path,
    expect: { status: 401, headers: { 'www-authenticate': undefined }, json: REQUIRED_BODY },
  })),
  {
    name: 'require_valid_user_except_for_up allows an anonymous /_up',
    options: EXCEPT_UP,
    path: '/_up',
    expect: { status: 200 },
  },
  {
    name: 'require_valid_user in the earlier section',
    options: { httpd: { require_valid_user: true } },
    path: '/',
    expect: { status: 401 },
  },

  {
    name: 'CORS: an accepted origin',
    options: CORS,
    path: '/_session',
    headers: origin,
    expect: {
      status: 200,
      headers: {
        'access-control-allow-origin': 'https://app.example',
        'access-control-allow-credentials': 'true',
        'access-control-expose-headers':
          'content-type, cache-control, accept-ranges, etag, server, x-couch-request-id, x-couch-update-newrev, x-couchdb-body-time',
        vary: 'Origin',
      },
    },
  },
  {
    name: 'CORS: headers on errors',
    options: CORS,
    path: '/_nothing',
    headers: origin,
    expect: { status: 401, headers: { 'access-control-allow-origin': 'https://app.example' } },
  },
  {
    name: 'CORS: no headers for another origin',
    options: CORS,
    path: '/_session',
    headers: { Origin: 'https://evil.example' },
    expect: { status: 200, headers: { 'access-control-allow-origin': undefined } },
  },
  {
    name: 'CORS: an origin is compared letter by letter',
    options: CORS,
    path: '/_session',
    headers: { Origin: 'https://APP.example' },
    expect: { status: 200, headers: { 'access-control-allow-origin': undefined } },
  },
  {
    name: 'CORS: off by default',
    path: '/_session',
    headers: origin,
    expect: { status: 200, headers: { 'access-control-allow-origin': undefined } },
  },
  {
    name: 'CORS: any origin, without credentials',
    options: { chttpd: { enable_cors: true }, cors: { origins: '*' } },
    path: '/_session',
    headers: origin,
    expect: {
      status: 200,
      headers: { 'access-control-allow-origin': 'https://app.example', 'access-control-allow-credentials': undefined },
    },
  },
  {
    name: 'CORS: a preflight',
    options: CORS,
    method: 'OPTIONS',
    path: '/_session',
    headers: preflight,
    expect: {
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
  },
  {
    name: 'CORS: a preflight needs no credential',
    options: { ...CORS, chttpd: { enable_cors: true, require_valid_user: true } },
    method: 'OPTIONS',
    path: '/_session',
    headers: preflight,
    expect: { status: 204 },
  },
  {
    name: 'CORS: a preflight for a method that is not allowed',
    options: CORS,
    method: 'OPTIONS',
    path: '/_session',
    headers: { ...preflight, 'Access-Control-Request-Method': 'BREW' },
    expect: { status: 405 },
  },
  {
    name: 'CORS: a preflight for a header that is not allowed',
    options: CORS,
    method: 'OPTIONS',
    path: '/_session',
    headers: { ...preflight, 'Access-Control-Request-Headers': 'x-evil' },
    expect: { status: 405 },
  },
]

runRows('document', ROWS)
