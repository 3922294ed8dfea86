import { ADMIN, AS_ADMIN, basic } from '../../support/request.ts'
import { type Row, runRows } from '../../support/rows.ts'

const GATE = { error: true, code: 401, errorNum: 11, errorMessage: 'not authorized to execute this request' }
const OFF = { server: { authentication: false } }
const EVERYTHING = { server: { 'authentication-system-only': false } }
const ALLOW = 'DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT'
const VERSION = { server: 'arango', license: 'community', version: '3.12.5' }
const CHALLENGES = 'Bearer token_type="JWT", realm="ArangoDB"\nBasic realm="ArangoDB"'
const origin = { Origin: 'https://app.example' }

const ROWS: Row[] = [
  ...[
    '/_api/version',
    '/_admin/version',
    '/_admin/status',
    '/_admin/server/jwt',
    '/_api/user',
    '/_openfoo',
    '/_open',
    '/_admin/aardvark',
    '/_db/_system/_api/version',
    '/_api/version?x=/_open/auth',
    '/_admin/server/availability/x',
  ].map((path) => ({
    name: `${path} needs a credential`,
    path,
    expect: { status: 401, headers: { 'www-authenticate': CHALLENGES }, json: GATE },
  })),
  ...['/_open', '/_open/'].map((path) => ({
    name: `${path} is not found, for an administrator`,
    path,
    as: AS_ADMIN,
    expect: { status: 404, json: { error: true, code: 404, errorNum: 404, errorMessage: "unknown path '/_open'" } },
  })),
  { name: 'accepts Basic', path: '/_api/version', as: AS_ADMIN, expect: { status: 200, json: VERSION } },
  {
    name: 'accepts the scheme in any case, with more blanks',
    path: '/_api/version',
    headers: { Authorization: ADMIN.Authorization.replace('Basic ', 'bAsIc   ') },
    expect: { status: 200, json: VERSION },
  },
  {
    name: 'accepts base64 without padding',
    path: '/_api/version',
    headers: { Authorization: ADMIN.Authorization.replaceAll('=', '') },
    expect: { status: 200 },
  },
  ...[
    'Basic',
    'Basic ',
    'Basic !!!',
    'Basic\tYWRtaW46YWRtaW5wdw==',
    'Digest x',
    'Bearer x.y.z',
    basic('admin', 'wrong'),
    basic('unknown', 'adminpw'),
    basic('', ''),
    'Basic YWRtaW4=',
  ].map((value) => ({
    name: `rejects ${JSON.stringify(value)}`,
    path: '/_api/version',
    headers: { Authorization: value },
    expect: { status: 401, json: GATE },
  })),
  {
    name: 'ignores a wrong credential on an open path',
    path: '/_admin/server/availability',
    as: 'admin:wrong',
    expect: { status: 200, json: { error: false, code: 200, mode: 'default' } },
  },
  {
    name: 'sends no challenge with X-Omit-Www-Authenticate',
    path: '/_api/version',
    headers: { 'X-Omit-Www-Authenticate': 'any' },
    expect: { status: 401, headers: { 'www-authenticate': undefined }, json: GATE },
  },
  {
    name: 'sends no challenge with an empty X-Omit-Www-Authenticate',
    path: '/_api/version',
    headers: { 'X-Omit-Www-Authenticate': '' },
    expect: { status: 401, headers: { 'www-authenticate': undefined } },
  },
  {
    name: 'uses multi-model.name as realm and server name',
    options: { 'multi-model': { name: 'OtherDB' } },
    path: '/_api/version',
    expect: { status: 401, headers: { 'www-authenticate': /realm="OtherDB"/, server: 'OtherDB' } },
  },
  {
    name: 'sends its headers with every reply',
    path: '/_admin/server/availability',
    expect: {
      status: 200,
      headers: {
        'content-type': 'application/json',
        server: 'ArangoDB',
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-cache, no-store, must-revalidate, pre-check=0, post-check=0, max-age=0, s-maxage=0',
        pragma: 'no-cache',
        expires: '0',
        'content-security-policy': "frame-ancestors 'self'; form-action 'self';",
        'strict-transport-security': 'max-age=31536000 ; includeSubDomains',
        'x-arango-queue-time-seconds': '0.000000',
        'x-request-id': /^[0-9a-f]{10}$/,
      },
    },
  },
  {
    name: 'sends no queue time if the option is off',
    options: { http: { 'return-queue-time-header': false } },
    path: '/',
    expect: { status: 200, headers: { 'x-arango-queue-time-seconds': undefined } },
  },
  {
    name: 'rejects POST to availability',
    method: 'POST',
    path: '/_admin/server/availability',
    expect: {
      status: 405,
      headers: { allow: 'GET' },
      json: { error: true, code: 405, errorNum: 405, errorMessage: 'method not supported' },
    },
  },
  {
    name: 'unknown path: 404 for an administrator',
    path: '/_api/nothing',
    as: AS_ADMIN,
    expect: {
      status: 404,
      json: { error: true, code: 404, errorNum: 404, errorMessage: "unknown path '/_api/nothing'" },
    },
  },
  {
    name: 'rejects an ambiguous path',
    path: '/_open/..%2f_api/version',
    expect: {
      status: 400,
      json: {
        error: true,
        code: 400,
        errorNum: 400,
        errorMessage: 'the request target is ambiguous',
      },
    },
  },

  { name: 'system only: an application path needs no credential', path: '/my-app/hello', expect: { status: 404 } },
  { name: 'system only: the root needs no credential', path: '/', expect: { status: 200 } },
  {
    name: 'every path closed: an application path needs a credential',
    options: EVERYTHING,
    path: '/my-app/hello',
    expect: { status: 401, json: GATE },
  },
  {
    name: 'every path closed: the root needs a credential',
    options: EVERYTHING,
    path: '/',
    expect: { status: 401, json: GATE },
  },
  {
    name: 'every path closed: an application path with a credential',
    options: EVERYTHING,
    path: '/my-app/hello',
    as: AS_ADMIN,
    expect: { status: 404 },
  },
  {
    name: 'every path closed: availability stays open',
    options: EVERYTHING,
    path: '/_admin/server/availability',
    expect: { status: 200 },
  },
  {
    name: 'authentication off: no credential is needed',
    options: OFF,
    path: '/_api/version',
    expect: { status: 200, json: VERSION },
  },
  {
    name: 'authentication off: no token is issued',
    options: OFF,
    method: 'POST',
    path: '/_open/auth',
    body: '{}',
    expect: { status: 404 },
  },
  {
    name: 'authentication off: a wrong credential is ignored',
    options: OFF,
    path: '/_api/version',
    as: 'admin:wrong',
    expect: { status: 200 },
  },
  {
    name: 'an unknown database looks like one the client may not enter',
    path: '/_db/nothing/_open/auth',
    expect: { status: 405 },
  },
  {
    name: 'and rejects what needs a credential as any other',
    path: '/_db/nothing/_api/version',
    expect: { status: 401, json: GATE },
  },
  {
    name: 'unknown database: 404 for an administrator',
    path: '/_db/nothing/_api/version',
    as: AS_ADMIN,
    expect: { status: 404, json: { error: true, code: 404, errorNum: 1228, errorMessage: 'database not found' } },
  },

  ...['/', '/_api/version', '/_admin/server/jwt', '/my-app', '/_db/nothing/x', '//x/..', '/_open/%2e%2e'].map(
    (path) => ({
      name: `OPTIONS ${path} is always answered`,
      method: 'OPTIONS',
      path,
      headers: { Authorization: 'Basic rubbish' },
      expect: {
        status: 200,
        headers: {
          allow: ALLOW,
          'content-length': '0',
          'content-type': 'text/plain',
          'www-authenticate': undefined,
          'access-control-allow-origin': undefined,
        },
        text: '',
      },
    }),
  ),
  {
    name: 'every path closed: OPTIONS is answered',
    options: EVERYTHING,
    method: 'OPTIONS',
    path: '/',
    expect: { status: 200, headers: { allow: ALLOW } },
  },
  {
    name: 'answers a preflight',
    method: 'OPTIONS',
    path: '/_api/version',
    headers: {
      ...origin,
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': ' authorization ',
    },
    expect: {
      status: 200,
      headers: {
        'access-control-allow-origin': 'https://app.example',
        'access-control-allow-methods': ALLOW,
        'access-control-allow-headers': 'authorization',
        'access-control-max-age': '1800',
        'access-control-allow-credentials': 'false',
      },
    },
  },
  {
    name: 'every reply echoes the origin, an error too',
    path: '/_api/version',
    headers: origin,
    expect: {
      status: 401,
      headers: {
        'access-control-allow-origin': 'https://app.example',
        'access-control-allow-credentials': 'false',
        'access-control-expose-headers':
          'etag, content-encoding, content-length, location, server, x-arango-errors, x-arango-async-id',
      },
    },
  },
  ...[
    ['https://app.example', 'true'],
    ['https://app.example/', 'true'],
    ['all', 'true'],
    ['*', 'true'],
    ['https://other.example', 'false'],
    ['none', 'false'],
  ].map(([trusted, credentials]) => ({
    name: `trusted origin ${trusted}`,
    options: { http: { 'trusted-origin': trusted as string } },
    path: '/',
    headers: origin,
    expect: { status: 200, headers: { 'access-control-allow-credentials': credentials } },
  })),
]

runRows('multiModel', ROWS)
