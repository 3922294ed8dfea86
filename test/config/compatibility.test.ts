import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeSettings, renderNotices } from '../../src/config/describe.ts'
import { exitCodeOf, renderProblem } from '../../src/config/problems.ts'
import { problemsOf, read } from './given.ts'

const runtime = (section: string, key: string, text: string | undefined) => ({ section, key, text })
const ignoredOf = (given: Parameters<typeof read>[0]) => {
  const { settings, problems } = read(given)
  assert.deepEqual(problems, [])
  return settings.ignored.map(({ section, key }) => `${section}.${key}`)
}

test('ignores options of CouchDB and ArangoDB that Cardea does not use, in every layer', () => {
  assert.deepEqual(
    ignoredOf({ ini: '[chttpd]\nserver_options = [{recbuf, undefined}]\n[couchdb]\nmax_document_size = 1' }),
    ['chttpd.server_options', 'couchdb.max_document_size'],
  )
  assert.deepEqual(ignoredOf({ argv: ['--cluster.api-jwt-policy', 'jwt-all', '--server.options-api', 'jwt'] }), [
    'cluster.api-jwt-policy',
    'server.options-api',
  ])
  assert.deepEqual(ignoredOf({ env: { CARDEA_DATABASE__PASSWORD: 'x' } }), ['database.password'])
})

test('ignores and keeps unknown sections set at run time', () => {
  const given = { runtime: [runtime('other', 'a', '1')] }
  assert.deepEqual(ignoredOf(given), ['other.a'])
  assert.deepEqual(read(given).settings.find('other', 'a'), { text: '1', source: { kind: 'run time' } })
  assert.equal(read(given).settings.find('other', 'b'), undefined)
})

test('reports an unknown section of a file at its header and suggests the nearest section', () => {
  const rows: readonly (readonly [section: string, meant: string | undefined])[] = [
    ['chtpd', 'chttpd'],
    ['chtppd', 'chttpd'],
    [' chttpd', 'chttpd'],
    ['CHTTPD', 'chttpd'],
    ['Admins', 'admins'],
    ['chttpd_auht', 'chttpd_auth'],
    ['multi_model', 'multi-model'],
    ['jwt-key', 'jwt_keys'],
    ['couch_http_auth', 'couch_httpd_auth'],
    ['loq', 'log'],
    ['mine', undefined],
  ]
  for (const [section, meant] of rows) {
    const { problems } = read({ ini: `\n\n[${section}]\nrequire_valid_user = true\nx = 1` })
    const suggestion = meant === undefined ? '' : `; did you mean [${meant}]?`
    assert.deepEqual(problems.map(renderProblem), [
      `unknown section [${section}]${suggestion} (/etc/cardea/local.ini:3)`,
    ])
    assert.equal(exitCodeOf(problems), 3)
  }
})

test('accepts sections of CouchDB and ArangoDB with any key, in files and as flags', () => {
  const ini =
    '[vendor]\nname = x\n[cluster]\nq = 2\n[smoosh.mine]\na = 1\n[cors:example.com]\norigins = *\n[ioq]\nb = 1\n[rocksdb]\nc = 1'
  const { problems, warnings } = read({ ini, argv: ['--cache.size', '1', '--foxx.queues', 'false'] })
  assert.deepEqual([problems, warnings], [[], []])
})

test('accepts options of CouchDB and ArangoDB in shared sections and rejects unknown ones', () => {
  const ini = '[server]\nstorage-engine = auto\nstatistics = true\n[log]\nuse-microtime = true\n[ssl]\nprotocol = 5'
  assert.deepEqual(problemsOf({ ini, argv: ['--server.statistics', '--server.maximal-threads', '4'] }), [])
  assert.deepEqual(problemsOf({ ini: '[server]\nstorage-engin = auto' }), [
    'unknown option [server] storage-engin (/etc/cardea/local.ini:2)',
  ])
})

test('warns that the old option to disable authentication has no effect', () => {
  const { settings, warnings } = read({ argv: ['--server.disable-authentication'] })
  assert.equal(settings.values.server.authentication, true)
  assert.match(warnings.join(), /AUTHENTICATION STAYS ON/)
})

test('accepts old names with a warning', () => {
  const { settings, warnings } = read({
    argv: ['--server.authenticate-system-only', 'false', '--tls.keyfile', '/k.pem'],
  })
  assert.equal(settings.values.server['authentication-system-only'], false)
  assert.equal(settings.values.ssl.keyfile, '/k.pem')
  assert.equal(warnings.length, 2)
})

test('applies the order of layers to an old name and the new one', () => {
  const { settings } = read({ ini: '[server]\nauthentication-system-only = false\nauthenticate-system-only = true' })
  assert.equal(settings.values.server['authentication-system-only'], true)
})

test('uses earlier sections for options that the newer ones do not set, with a warning each', () => {
  const { settings, warnings } = read({
    ini: '[httpd]\nmax_uri_length = 9\n[couch_httpd_auth]\ntimeout = 7\nsecret = hush-hush-hush-hush',
  })
  assert.equal(settings.values.chttpd.max_uri_length, 9)
  assert.equal(settings.values.chttpd_auth.timeout, 7)
  assert.equal(settings.values.chttpd_auth.secret, 'hush-hush-hush-hush')
  assert.equal(warnings.length, 3)
  assert.ok(!warnings.join().includes('hush'))
  assert.deepEqual(settings.find('chttpd_auth', 'timeout'), {
    text: '7',
    source: { kind: 'file', path: '/etc/cardea/local.ini', line: 4 },
  })
})

test('prefers the newer section, in every layer', () => {
  const { settings, warnings } = read({ ini: '[chttpd_auth]\ntimeout = 5', argv: ['--couch_httpd_auth.timeout', '7'] })
  assert.equal(settings.values.chttpd_auth.timeout, 5)
  assert.deepEqual(warnings, [])
})

const CLOSED: Readonly<Record<string, string>> = {
  '[httpd]': '[httpd]\nrequire_valid_user = true',
  '[couch_httpd_auth], where it once stood': '[couch_httpd_auth]\nrequire_valid_user = true',
  'both, one of them open': '[couch_httpd_auth]\nrequire_valid_user = false\n[httpd]\nrequire_valid_user = true',
}

for (const [name, ini] of Object.entries(CLOSED)) {
  test(`rejects anonymous requests if set in ${name}`, () =>
    assert.equal(read({ ini }).settings.values.chttpd.require_valid_user, true))
}

test('rejects anonymous requests if both earlier sections say so and a third allows them', () => {
  const ini = '[httpd]\nrequire_valid_user = true\n[couch_httpd_auth]\nrequire_valid_user = false'
  assert.equal(read({ ini }).settings.values.chttpd.require_valid_user, true)
})

test('never makes an option less strict because of an earlier section', () => {
  const ini = `[couch_httpd_auth]
proxy_use_secret = false
users_db_public = true
iterations = 10
password_scheme = simple
[httpd]
port = 1
bind_address = 0.0.0.0
admin_only_all_dbs = false
authentication_handlers = {couch_httpd_auth, null_authentication_handler}
peer_header = X-Peer`
  const { settings, problems, warnings } = read({ ini })
  assert.deepEqual(problems, [])
  const { chttpd, chttpd_auth: auth } = settings.values
  assert.deepEqual(
    [auth.proxy_use_secret, auth.users_db_public, auth.iterations, auth.password_scheme],
    [true, false, 600_000, 'pbkdf2'],
  )
  assert.deepEqual(
    [chttpd.port, chttpd.bind_address, chttpd.admin_only_all_dbs, chttpd.peer_header],
    [5984, '127.0.0.1', true, ''],
  )
  assert.deepEqual(chttpd.authentication_handlers, ['jwt', 'proxy', 'cookie', 'default'])
  assert.equal(warnings.length, 4)
  assert.equal(settings.ignored.length, 9)
})

test('has no earlier section for options of Cardea', () => {
  const { problems } = read({ ini: '[httpd]\ntrusted_proxies = 0.0.0.0/0\n[couch_httpd_auth]\nallow_sign_up = true' })
  assert.deepEqual(
    problems.map(({ kind }) => kind),
    ['unknown-option', 'unknown-option'],
  )
})

test('ignores run-time values of options that cannot be set at run time', () => {
  const given = [
    runtime('store', 'url', 'sqlite:/elsewhere'),
    runtime('services', 'shop', '/shop http://a'),
    runtime('jwt_keys', 'jwks:x', '/etc/passwd'),
    runtime('server', 'jwt-secret', 'x'),
  ]
  const { settings, warnings, problems } = read({ runtime: given })
  assert.deepEqual(problems, [])
  assert.equal(warnings.length, given.length)
  assert.equal(settings.values.store.url, 'sqlite:/srv/data/cardea.db')
  assert.deepEqual(settings.open, { jwt_keys: [], jwt_key_limits: [], services: [] })
  assert.deepEqual(settings.entries, [])
  assert.deepEqual(settings.find('store', 'url')?.source, { kind: 'default' })
  assert.deepEqual(
    describeSettings(settings).filter(({ isDefault }) => !isDefault),
    [],
  )
  assert.deepEqual(renderNotices(settings), [])
})

test('ignores unknown options set at run time', () => {
  for (const section of ['chttpd', 'mail']) {
    const { problems, warnings } = read({ runtime: [runtime(section, 'of_tomorrow', '1')] })
    assert.deepEqual(problems, [])
    assert.match(warnings.join(), /of_tomorrow/)
  }
})

test('a flag hides a bad run-time value', () => {
  const { problems, settings } = read({ runtime: [runtime('log', 'level', 'loud')], argv: ['--log.level', 'warn'] })
  assert.deepEqual(problems, [])
  assert.equal(settings.values.log.level, 'warn')
})

test('uses only the last [admins] section', () => {
  const files = [
    { path: 'a.ini', text: '[admins]\nann = 1\n[log]\nlevel = info\n[admins]\nbob = 2' },
    { path: 'b.ini', text: '[admins]\ncarl = 3\ncarl = 4\ndora = 5' },
  ]
  const { settings, warnings } = read({ files })
  assert.deepEqual(
    settings.admins.map(({ name, text, source }) => [name, text, source]),
    [
      ['carl', '4', { kind: 'file', path: 'b.ini', line: 3 }],
      ['dora', '5', { kind: 'file', path: 'b.ini', line: 4 }],
    ],
  )
  assert.deepEqual(warnings, [
    'this [admins] section is ignored: only the last one is used, at b.ini:1 (a.ini:1)',
    'this [admins] section is ignored: only the last one is used, at b.ini:1 (a.ini:5)',
    '[admins] carl: this line is ignored: the one at b.ini:3 is used (b.ini:2)',
  ])
})

test('uses an empty last [admins] section', () => {
  const { settings, warnings } = read({ ini: '[admins]\nann = 1\n[admins]\n;bob = 2' })
  assert.deepEqual(settings.admins, [])
  assert.equal(warnings.length, 1)
})

test('lists administrators of every layer, lowest first', () => {
  const { settings } = read({
    ini: '[admins]\nann = file',
    runtime: [runtime('admins', 'ann', '-pbkdf2-x'), runtime('admins', 'gone', undefined)],
    env: { CARDEA_ADMINS__ann: 'env' },
    argv: ['--admins.ann', 'flag', '--admins.bob', 'flag'],
  })
  assert.deepEqual(
    settings.admins.map(({ name, source }) => `${name} ${source.kind}`),
    ['ann file', 'ann run time', 'ann environment', 'ann flag', 'bob flag'],
  )
  assert.deepEqual(settings.deletedAdmins, ['gone'])
})

test('warns that roles_claim_name is deprecated, and that it is ignored if roles_claim_path is set', () => {
  const name = '[jwt_auth]\nroles_claim_name = my.roles\n'
  assert.deepEqual(read({ ini: name }).warnings, [
    '[jwt_auth] roles_claim_name: deprecated since CouchDB 3.3; use roles_claim_path, with \\. for a dot in a name (/etc/cardea/local.ini:2)',
  ])
  const both = read({ ini: `${name}roles_claim_path = my\\.roles` }).warnings
  assert.deepEqual(
    [both.length, both[1]],
    [2, 'jwt_auth.roles_claim_name is ignored, because jwt_auth.roles_claim_path is set (/etc/cardea/local.ini:2)'],
  )
  assert.deepEqual(read({ ini: '[jwt_auth]\nroles_claim_path = a' }).warnings, [])
})

const CLEAR = '[admins]\nann = pw'
const HASHED = '[admins]\nann = -pbkdf2-a,b,1'
const OTHER = '[store]\nurl = sqlite:x.db'

const MODES: readonly (readonly [name: string, text: string, mode: number, warning: RegExp | undefined])[] = [
  [
    'a password others may read',
    CLEAR,
    0o100644,
    /^this file is readable .*a plain-text secret \(\[admins\] ann\): chmod 600 a\.ini \(a\.ini\)$/,
  ],
  ['a password the group may read', CLEAR, 0o640, /is readable by others/],
  ['a password of the owner alone', CLEAR, 0o600, undefined],
  [
    'a secret the group may read',
    '[chttpd_auth]\nsecret = hush-hush-hush-hush',
    0o640,
    /a plain-text secret \(\[chttpd_auth\] secret\)/,
  ],
  ['a key others may read', '[jwt_keys]\nhmac:a = aGk=', 0o604, /a plain-text secret \(\[jwt_keys\] hmac:a\)/],
  [
    'a hash others may read',
    HASHED,
    0o644,
    /^this file is readable by others and contains \[admins\]: chmod 600 a\.ini \(a\.ini\)$/,
  ],
  ['a hash others may write', HASHED, 0o602, /is writable by others/],
  ['a hash the group may write', HASHED, 0o660, /is writable by others/],
  ['a hash others may read and write', HASHED, 0o606, /is readable and writable by others/],
  ['a hash the group may read, as packages install it', HASHED, 0o640, undefined],
  ['a hash that a later section overrules', `${HASHED}\n[admins]\nbob = -pbkdf2-a,b,1`, 0o644, /\[admins\]/],
  ['a password in a file of its own', '[admins]\nann = @file:pw', 0o644, /contains \[admins\]/],
  ['other options others may read', OTHER, 0o644, undefined],
  ['other options others may write: they could add administrators', OTHER, 0o666, /is writable by others/],
]

for (const [name, text, mode, warning] of MODES)
  test(`file permissions: ${name}`, () => {
    const files = [{ path: 'a.ini', text, mode }]
    const warnings = read({ files, secrets: { '/srv/pw': 'pw' } }).warnings.filter((line) => line.includes('chmod'))
    assert.equal(warnings.length, warning ? 1 : 0, warnings.join())
    if (warning) assert.match(warnings.join(), warning)
    assert.ok(!warnings.join().includes('hush'))
  })
