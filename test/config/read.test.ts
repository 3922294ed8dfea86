import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exitCodeOf } from '../../src/config/problems.ts'
import { renderSource } from '../../src/config/settings.ts'
import { problemsOf, read } from './given.ts'

const runtime = (section: string, key: string, text: string) => ({ section, key, text })

test('a later layer wins and is the source', () => {
  const files = [
    { path: 'a.ini', text: '[log]\nlevel = debug\nformat = json\n' },
    { path: 'b.ini', text: '\n[log]\nlevel = warn\n' },
  ]
  const sourceOf = (given: Parameters<typeof read>[0]) => {
    const { settings, problems } = read(given)
    assert.deepEqual(problems, [])
    const found = settings.find('log', 'level')
    assert.equal(found?.text, settings.values.log.level)
    return found && renderSource(found.source)
  }
  const late = [runtime('log', 'level', 'error')]
  const env = { CARDEA_LOG__LEVEL: 'debug' }
  assert.equal(sourceOf({}), 'default')
  assert.equal(sourceOf({ files: files.slice(0, 1) }), 'a.ini:2')
  assert.equal(sourceOf({ files }), 'b.ini:3')
  assert.equal(sourceOf({ files, runtime: late }), 'run time')
  assert.equal(sourceOf({ files, runtime: late, env }), 'CARDEA_LOG__LEVEL')
  assert.equal(sourceOf({ files, runtime: late, env, argv: ['--log.level', 'info'] }), '--log.level')
  assert.equal(read({ files }).settings.values.log.format, 'json')
})

test('uses the last of repeated flags, and all for a list', () => {
  const { settings } = read({
    ini: '[cors]\norigins = http://file\n',
    argv: ['--chttpd.port', '1', '--cors.origins', 'http://a', '--chttpd.port', '2', '--cors.origins', 'http://b'],
  })
  assert.equal(settings.values.chttpd.port, 2)
  assert.deepEqual(settings.values.cors.origins, ['http://a', 'http://b'])
  assert.deepEqual(
    read({ argv: ['--server.endpoint', 'tcp://a:1', '--server.endpoint', 'unix:///b'] }).settings.values.server
      .endpoint,
    [
      { kind: 'tcp', host: 'a', port: 1 },
      { kind: 'unix', path: '/b' },
    ],
  )
})

const PROBLEMS: Readonly<Record<string, readonly [given: Parameters<typeof read>[0], problems: readonly string[]]>> = {
  'an unknown option in a file': [
    { ini: '[chttpd_auth]\n\ntimout = 5' },
    ['unknown option [chttpd_auth] timout; did you mean timeout? (/etc/cardea/local.ini:3)'],
  ],
  'an option that belongs to another section': [
    { ini: '[chttpd_auth]\nrequire_valid_user = true' },
    [
      'unknown option [chttpd_auth] require_valid_user; did you mean [chttpd] require_valid_user? (/etc/cardea/local.ini:2)',
    ],
  ],
  'an option without a similar name': [
    { ini: '[server]\nzzzzzzzzzzzz = 1' },
    ['unknown option [server] zzzzzzzzzzzz (/etc/cardea/local.ini:2)'],
  ],
  'a name in the wrong case': [
    { ini: '[chttpd]\nPort = 1' },
    ['unknown option [chttpd] Port; did you mean port? (/etc/cardea/local.ini:2)'],
  ],
  'an unknown flag': [
    { argv: ['--server.sesion-timeout', '5'] },
    ['unknown option; did you mean --server.session-timeout? (--server.sesion-timeout)'],
  ],
  'a flag of an unknown section': [{ argv: ['--mine.x', '5'] }, ['unknown option (--mine.x)']],
  'a flag of a misspelt section': [
    { argv: ['--chtpd.require_valid_user', 'true'] },
    ['unknown option; did you mean --chttpd.require_valid_user? (--chtpd.require_valid_user)'],
  ],
  'a line without =': [
    { ini: '[chttpd]\nrequire_valid_user true\n' },
    ['expected "option = value"; a comment begins with ; (/etc/cardea/local.ini:2)'],
  ],
  'a section that is not closed': [
    { ini: '[chttpd\n; more\n' },
    ['expected [section] and nothing after it (/etc/cardea/local.ini:1)'],
  ],
  'a value without a name': [
    { ini: '[chttpd]\n= true' },
    ['expected the name of an option before = (/etc/cardea/local.ini:2)'],
  ],
  'an option before any section': [
    { ini: 'require_valid_user = true' },
    ['this line is not inside a [section] (/etc/cardea/local.ini:1)'],
  ],
  'a bad value in a file': [
    { ini: '[chttpd]\nport = many' },
    ['[chttpd] port: expected a port from 0 to 65535, or none, got "many" (/etc/cardea/local.ini:2)'],
  ],
  'a bad value of a flag': [
    { argv: ['--server.session-timeout', 'x'] },
    ['expected a number of seconds greater than 1, got "x" (--server.session-timeout)'],
  ],
  'a bad value in the environment': [
    { env: { CARDEA_SERVER__HARDEN: 'True' } },
    ['expected true or false, got "True" (CARDEA_SERVER__HARDEN)'],
  ],
  'a bad value that a later layer overrules is still one': [
    { ini: '[chttpd]\nport = many', argv: ['--chttpd.port', '1'] },
    ['[chttpd] port: expected a port from 0 to 65535, or none, got "many" (/etc/cardea/local.ini:2)'],
  ],
  'a bad value in an earlier section': [
    { ini: '[httpd]\nrequire_valid_user = True' },
    ['[httpd] require_valid_user: expected true or false, got "True" (/etc/cardea/local.ini:2)'],
  ],
  'a mistyped key of an earlier section': [
    { ini: '[httpd]\nrequire_valid_usr = true' },
    ['unknown option [httpd] require_valid_usr; did you mean [chttpd] require_valid_user? (/etc/cardea/local.ini:2)'],
  ],
  'a secret that is too long is not shown': [
    { argv: ['--server.jwt-secret', 'x'.repeat(65)] },
    ['expected text of at most 64 bytes (--server.jwt-secret)'],
  ],
  'a store URL with a password is not shown': [
    { argv: ['--store.url', 'mysql://u:hush@h'] },
    [`expected sqlite:path, sqlite::memory: or postgres://… (--store.url)`],
  ],
  'a long value is cut': [
    { argv: ['--log.level', 'x'.repeat(99)] },
    [`expected one of debug, info, warn, error, got "${'x'.repeat(60)}…" (--log.level)`],
  ],
  'an unknown kind of key': [
    { ini: '[jwt_keys]\nhmca:a = aGk=' },
    [
      '[jwt_keys] hmca:a: the name of a key is its kind (hmac, rsa, ec, eddsa, jwks), a colon and its id; did you mean hmac:a? (/etc/cardea/local.ini:2)',
    ],
  ],
  'an empty password': [{ env: { CARDEA_ADMINS__root: '' } }, ['a password must not be empty (CARDEA_ADMINS__root)']],
  'a flag without value': [{ argv: ['--chttpd.port'] }, ['needs a value (--chttpd.port)']],
  'a bad value at run time': [
    { runtime: [runtime('chttpd', 'port', 'x')] },
    ['[chttpd] port: expected a port from 0 to 65535, or none, got "x" (run time)'],
  ],
}

for (const [name, [given, problems]] of Object.entries(PROBLEMS)) {
  test(name, () => assert.deepEqual(problemsOf(given), problems))
}

test('reports all problems at once; the gravest decides the exit code', () => {
  const { problems } = read({ ini: '[chttpd]\nport = x\nprot = 1\n', argv: ['--log.level', 'x', '--ssl.enable'] })
  assert.deepEqual(
    problems.map(({ kind }) => kind),
    ['unknown-option', 'bad-value', 'bad-value', 'conflict'],
  )
  const kinds = ['conflict', 'bad-value', 'unknown-option', 'bad-file'] as const
  const codes = kinds.map((_, index) =>
    exitCodeOf(kinds.slice(0, index + 1).map((kind) => ({ kind, place: '', message: '' }))),
  )
  assert.deepEqual(codes, [1, 4, 3, 6])
  assert.equal(exitCodeOf([]), 0)
})

test('keeps the default for a bad value and checks no rules about it', () => {
  const { settings, problems } = read({ argv: ['--server.endpoint', 'ssl://a:1', '--ssl.keyfile', 'a\nb'] })
  assert.equal(settings.values.ssl.keyfile, '')
  assert.deepEqual(
    problems.map(({ kind }) => kind),
    ['bad-value'],
  )
})

test('resolves relative paths against the file that contains them, otherwise the working directory', () => {
  const { settings } = read({ ini: '[server]\njwt-secret-keyfile = keys/a\n[store]\nurl = sqlite:x.db' })
  assert.equal(settings.values.server['jwt-secret-keyfile'], '/etc/cardea/keys/a')
  assert.equal(settings.values.store.url, 'sqlite:/etc/cardea/x.db')
  assert.equal(settings.find('store', 'url')?.text, 'sqlite:x.db')
  const nested = read({ files: [{ path: 'conf/a.ini', text: '[ssl]\nkeyfile = k.pem' }] })
  assert.equal(nested.settings.values.ssl.keyfile, '/srv/conf/k.pem')
  assert.equal(read({ argv: ['--ssl.keyfile', 'k.pem'] }).settings.values.ssl.keyfile, '/srv/k.pem')
  assert.equal(read({ env: { CARDEA_SSL__KEYFILE: 'k.pem' } }).settings.values.ssl.keyfile, '/srv/k.pem')
  assert.equal(read({}).settings.values.store.url, 'sqlite:/srv/data/cardea.db')
})

test('reads secrets from files named in files, flags and environment', () => {
  const secrets = { '/etc/cardea/s': 'from file', '/srv/s': 'from cwd' }
  const ini = '[chttpd_auth]\nsecret = @file:s\n[admins]\nroot = @file:s\n[jwt_keys]\nhmac:a = @file:s\n'
  const { settings, problems } = read({ ini, secrets })
  assert.deepEqual(problems, [])
  assert.equal(settings.values.chttpd_auth.secret, 'from file')
  assert.equal(settings.admins[0]?.text, 'from file')
  assert.equal(settings.open.jwt_keys[0]?.text, 'from file')
  assert.equal(settings.find('chttpd_auth', 'secret')?.text, '@file:s')
  assert.equal(
    read({ argv: ['--chttpd_auth.secret', '@file:s'], secrets }).settings.values.chttpd_auth.secret,
    'from cwd',
  )
  assert.equal(
    read({ env: { CARDEA_CHTTPD_AUTH__SECRET_FILE: 's' }, secrets }).settings.values.chttpd_auth.secret,
    'from cwd',
  )
})

test('reports a missing secret file', () => {
  const { problems } = read({ ini: '[chttpd_auth]\nsecret = @file:nowhere' })
  assert.deepEqual(problems, [
    {
      kind: 'bad-file',
      place: '/etc/cardea/local.ini:2',
      message: '[chttpd_auth] secret: cannot read "nowhere": there is no such file',
    },
  ])
})

test('reads no file for run-time values and options that are not secret', () => {
  const secrets = { '/srv/s': 'hush' }
  const late = read({
    runtime: [runtime('chttpd_auth', 'secret', '@file:s'), runtime('admins', 'a', '@file:s')],
    secrets,
  })
  assert.deepEqual(
    late.problems.map(({ kind }) => kind),
    ['bad-value', 'bad-value'],
  )
  assert.deepEqual(late.settings.admins, [])
  assert.equal(
    read({ argv: ['--chttpd_auth.password_regexp', '@file:s'], secrets }).settings.values.chttpd_auth.password_regexp,
    '@file:s',
  )
})

test('warns about a secret in a flag, not in a file', () => {
  const { warnings } = read({ argv: ['--chttpd_auth.secret', 'hush'] })
  assert.match(warnings.join(), /other users of this machine can read .*\(--chttpd_auth.secret\)/)
  assert.ok(!warnings.join().includes('hush'))
  assert.deepEqual(read({ ini: '[chttpd_auth]\nsecret = hush-hush-hush-hush' }).warnings, [])
})

test('warns about a short cookie secret, in every layer', () => {
  for (const given of [
    { ini: '[chttpd_auth]\nsecret = hush' },
    { runtime: [{ section: 'chttpd_auth', key: 'secret', text: 'hush' }] },
  ]) {
    const { warnings, problems } = read(given)
    assert.deepEqual([problems, warnings.length], [[], 1])
    assert.match(warnings[0] ?? '', /: this secret is shorter than 16 characters/)
    assert.ok(!warnings.join().includes('hush'))
  }
})

test('freezes settings deeply', () => {
  const { settings } = read({ ini: '[admins]\nroot = pw\n[mine]\na = 1' })
  const walk = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    assert.ok(Object.isFrozen(value))
    Object.values(value).forEach(walk)
  }
  // the table is a constant of the program
  const { table: _, ...values } = settings
  assert.ok(Object.isFrozen(settings))
  Object.values(values).forEach(walk)
})

test('warns about an option that is set twice in one file, and uses the last line', () => {
  const ini =
    '[chttpd_auth]\ntimeout = 1\n[chttpd]\nport = 1\n[chttpd_auth]\ntimeout = 2\ntimeout = 3\n[vendor]\na = 1\na = 2\n'
  const { settings, warnings, problems } = read({ ini })
  assert.deepEqual([settings.values.chttpd_auth.timeout, problems], [3, []])
  assert.deepEqual(warnings, [
    '[chttpd_auth] timeout: this line is ignored: the one at /etc/cardea/local.ini:7 is used (/etc/cardea/local.ini:2)',
    '[chttpd_auth] timeout: this line is ignored: the one at /etc/cardea/local.ini:7 is used (/etc/cardea/local.ini:6)',
  ])
})

test('does not warn about an option that two files set', () => {
  const file = (path: string) => ({ path, text: '[jwt_keys]\nhmac:a = aGk=\n' })
  assert.deepEqual(read({ files: [file('a.ini'), file('b.ini')] }).warnings, [])
})
