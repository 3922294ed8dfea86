import assert from 'node:assert/strict'
import { test } from 'node:test'
import { splitName } from '../../src/config/options.ts'
import { RULES } from '../../src/config/rules.ts'
import { OPTION_TABLE } from '../../src/module-options.ts'
import { problemsOf, read } from './given.ts'

const BROKEN: Readonly<Record<string, readonly [argv: readonly string[], problem: RegExp]>> = {
  'a keyfile and a folder': [
    ['--server.jwt-secret-keyfile', 'a', '--server.jwt-secret-folder', 'b'],
    /^please specify either '--server.jwt-secret-keyfile' or '--server.jwt-secret-folder' but not both\. \(--server.jwt-secret-keyfile, --server.jwt-secret-folder\)$/,
  ],
  'a keyfile and a folder for the upstream': [
    ['--upstream.multi-model-secret-keyfile', 'a', '--upstream.multi-model-secret-folder', 'b'],
    /not both/,
  ],
  'credentials for every origin': [
    ['--cors.origins', '*', '--cors.credentials'],
    / \(--cors.origins, --cors.credentials\)$/,
  ],
  'credentials for sandboxed frames': [['--cors.origins', 'null', '--cors.credentials'], /origins by name/],
  'a minimum lifetime above the maximum': [
    ['--auth.minimal-jwt-expiry-time', '3601'],
    /^.*greater.* \(--auth.minimal-jwt-expiry-time\)$/,
  ],
  'minimum iterations above the maximum': [
    ['--chttpd_auth.min_iterations', '2', '--chttpd_auth.max_iterations', '1'],
    /greater/,
  ],
  'TLS without a key at the multi-model door': [['--server.endpoint', 'tcp://a:1, ssl://b:2'], /needs ssl\.keyfile/],
  'TLS without a key at the document door': [['--ssl.enable', '--ssl.cert_file', 'a'], /ssl\.key_file/],
  'revocation lists without an authority': [['--ssl.client-crl', 'a'], /^ssl\.client-crl needs ssl\.client-ca/],
  'a cookie with both prefix and domain': [
    ['--chttpd_auth.cookie_host_prefix', '--chttpd_auth.cookie_domain', 'example.com'],
    /remove chttpd_auth\.cookie_domain/,
  ],
  'a partitioned cookie that other sites do not get': [
    ['--chttpd_auth.cookie_partitioned', '--chttpd_auth.same_site', 'lax'],
    /needs chttpd_auth\.same_site = none/,
  ],
  'no door at all': [['--chttpd.port', 'none', '--server.endpoint', 'none'], /both doors/],
  'headers of one name': [
    ['--chttpd_auth.x_auth_roles', 'X-A', '--chttpd_auth.x_auth_token', 'x-a'],
    /different names/,
  ],
  'a cookie secret that signs tokens': [
    ['--chttpd_auth.secret', 'hush', '--server.jwt-secret', 'hush'],
    /must be different secrets \(--chttpd_auth.secret, --server.jwt-secret\)$/,
  ],
  'a key that is the cookie secret': [
    ['--chttpd_auth.secret', 'hush', '--jwt_keys.hmac:a', 'aHVzaA=='],
    /\[jwt_keys\] hmac:a/,
  ],
  'a key that is the cookie secret, filled up with zeros': [
    ['--chttpd_auth.secret', 'hush', '--jwt_keys.hmac:a', 'aHVzaAAA'],
    / \(--chttpd_auth.secret, --jwt_keys.hmac:a\)$/,
  ],
  'a file that signs for both': [
    ['--server.jwt-secret-keyfile', 'a', '--upstream.multi-model-secret-keyfile', './a'],
    /must be different/,
  ],
}

for (const [name, [argv, problem]] of Object.entries(BROKEN)) {
  test(`rejects ${name}`, () => {
    const problems = problemsOf({ argv })
    assert.equal(problems.length, 1, problems.join('\n'))
    assert.match(problems[0] ?? '', problem)
    assert.ok(!problems[0]?.includes('hush'))
  })
}

const SOUND: Readonly<Record<string, readonly string[]>> = {
  'all origins without credentials': ['--cors.origins', '*'],
  'one origin with credentials': ['--cors.origins', 'https://a', '--cors.credentials'],
  'fewer iterations than users must have': ['--chttpd_auth.iterations', '10', '--chttpd_auth.min_iterations', '100'],
  'an inline secret beside a folder': ['--server.jwt-secret', 'x', '--server.jwt-secret-folder', 'b'],
  'the document door with TLS alone': [
    ...['--chttpd.port', 'none', '--server.endpoint', 'none'],
    ...['--ssl.enable', '--ssl.cert_file', 'a', '--ssl.key_file', 'b'],
  ],
  'one door': ['--chttpd.port', 'none'],
  'two names of one key': ['--jwt_keys.hmac:a', 'aHVzaA==', '--jwt_keys.hmac:b', 'aHVzaA=='],
  'an endpoint with TLS and its key': ['--server.endpoint', 'ssl://b:2', '--ssl.keyfile', 'a'],
}

for (const [name, argv] of Object.entries(SOUND)) {
  test(`accepts ${name}`, () => assert.deepEqual(problemsOf({ argv }), []))
}

const ITERATIONS: Readonly<Record<string, readonly [argv: readonly string[], warned: boolean]>> = {
  'fewer than users must have': [['--chttpd_auth.iterations', '10', '--chttpd_auth.min_iterations', '100'], true],
  'more than users may have': [['--chttpd_auth.max_iterations', '1000'], true],
  'no iterations': [['--chttpd_auth.max_iterations', '1000', '--chttpd_auth.password_scheme', 'simple'], false],
  'just as many': [['--chttpd_auth.max_iterations', '600000', '--chttpd_auth.min_iterations', '600000'], false],
}

for (const [name, [argv, warned]] of Object.entries(ITERATIONS)) {
  test(`iterations: ${name}`, () => {
    const { warnings } = read({ argv })
    assert.equal(
      warnings.some((warning) => warning.includes('is not between')),
      warned,
    )
  })
}

const WITH_ORIGIN = ['--cors.origins', 'https://a', '--cors.credentials']

/** Whether session cookies that browsers do not send from other sites are warned about. */
const SAME_SITE: Readonly<Record<string, readonly [argv: readonly string[], warned: boolean]>> = {
  'credentials with lax': [[...WITH_ORIGIN, '--chttpd_auth.same_site', 'lax'], true],
  'credentials with strict': [[...WITH_ORIGIN, '--chttpd_auth.same_site', 'strict'], true],
  'credentials with none': [[...WITH_ORIGIN, '--chttpd_auth.same_site', 'none'], false],
  'credentials with the default': [WITH_ORIGIN, false],
  'lax without credentials': [['--cors.origins', 'https://a', '--chttpd_auth.same_site', 'lax'], false],
}

for (const [name, [argv, warned]] of Object.entries(SAME_SITE)) {
  test(`${warned ? 'warns' : 'does not warn'} about cookies for other origins: ${name}`, () => {
    const { problems, warnings } = read({ argv })
    assert.deepEqual(problems, [])
    assert.equal(
      warnings.some((warning) => warning.includes('do not send the session cookie')),
      warned,
    )
  })
}

/** Whether a listener without TLS is warned about. */
const EXPOSED: Readonly<Record<string, readonly [argv: readonly string[], warned: boolean]>> = {
  'every address': [['--chttpd.bind_address', '0.0.0.0'], true],
  any: [['--chttpd.bind_address', 'any'], true],
  'every IPv6 address': [['--chttpd.bind_address', '::'], true],
  'an address of this machine': [['--chttpd.bind_address', '192.0.2.7'], true],
  'an endpoint without TLS': [['--server.endpoint', 'tcp://0.0.0.0:8529'], true],
  'an admin endpoint without TLS': [['--admin.endpoint', 'tcp://[::]:9000'], true],
  'the default': [[], false],
  'another loopback address': [['--chttpd.bind_address', '127.0.0.2'], false],
  '::1': [['--chttpd.bind_address', '::1'], false],
  localhost: [['--chttpd.bind_address', 'localhost'], false],
  'TLS alone': [
    [
      '--chttpd.bind_address',
      'any',
      '--chttpd.port',
      'none',
      '--ssl.enable',
      '--ssl.cert_file',
      'c',
      '--ssl.key_file',
      'k',
    ],
    false,
  ],
  'endpoints with TLS': [['--server.endpoint', 'ssl://0.0.0.0:8529', '--ssl.keyfile', 'k'], false],
  'a Unix socket': [['--server.endpoint', 'unix:///run/cardea.sock'], false],
}

for (const [name, [argv, warned]] of Object.entries(EXPOSED)) {
  test(`${warned ? 'warns' : 'does not warn'} about listening without TLS: ${name}`, () => {
    const { problems, warnings } = read({ argv })
    assert.deepEqual(problems, [])
    assert.equal(
      warnings.some((warning) => warning.includes('without TLS')),
      warned,
    )
  })
}

/** Whether workers that need more connections to PostgreSQL than the option allows are warned about. */
const CONNECTIONS: Readonly<Record<string, readonly [argv: readonly string[], warned: boolean]>> = {
  'more workers': [['--store.url', 'postgres://a/b', '--server.workers', '8'], true],
  'as many workers': [['--store.url', 'postgres://a/b', '--server.workers', '5'], false],
  'more workers with SQLite': [['--server.workers', '8'], false],
}

for (const [name, [argv, warned]] of Object.entries(CONNECTIONS)) {
  test(`${warned ? 'warns' : 'does not warn'} about too few connections to PostgreSQL: ${name}`, () => {
    const { problems, warnings } = read({ argv })
    assert.deepEqual(problems, [])
    assert.equal(
      warnings.some((warning) => warning.includes('up to 16 are opened instead of 10')),
      warned,
    )
  })
}

test('every rule is about existing options', () => {
  for (const name of RULES.flatMap((rule) => rule.about)) {
    assert.ok(OPTION_TABLE.find(splitName(name).section, splitName(name).key), name)
  }
})
