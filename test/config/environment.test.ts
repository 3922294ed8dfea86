import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readEnvironment, variableOf } from '../../src/config/environment.ts'
import { renderProblem } from '../../src/config/problems.ts'
import { OPTION_TABLE } from '../../src/module-options.ts'

const given = (environment: Record<string, string>) =>
  readEnvironment(environment, OPTION_TABLE).assignments.map(({ section, key, text }) => `${section}.${key}=${text}`)

test('spells names in capitals', () => {
  assert.equal(variableOf('server', 'jwt-secret-keyfile'), 'CARDEA_SERVER__JWT_SECRET_KEYFILE')
  assert.equal(variableOf('multi-model', 'name'), 'CARDEA_MULTI_MODEL__NAME')
  assert.equal(variableOf('chttpd', 'WWW-Authenticate'), 'CARDEA_CHTTPD__WWW_AUTHENTICATE')
})

const READ: Readonly<Record<string, readonly [name: string, value: string, assignment: string]>> = {
  'an option': ['CARDEA_SERVER__SESSION_TIMEOUT', '90', 'server.session-timeout=90'],
  'an option whose name ends like a file': ['CARDEA_SERVER__JWT_SECRET_KEYFILE', 'a', 'server.jwt-secret-keyfile=a'],
  'an option that is a file': ['CARDEA_SSL__KEY_FILE', 'a', 'ssl.key_file=a'],
  'a secret in a file': ['CARDEA_SERVER__JWT_SECRET_FILE', '/run/s', 'server.jwt-secret=@file:/run/s'],
  'an administrator, the case of the name kept': ['CARDEA_ADMINS__Jan', 'pw', 'admins.Jan=pw'],
  'an administrator in a file': ['CARDEA_ADMINS__jan_FILE', '/run/s', 'admins.jan=@file:/run/s'],
  'an administrator whose name has __': ['CARDEA_ADMINS__a__b', 'pw', 'admins.a__b=pw'],
  'a key': ['CARDEA_JWT_KEYS__hmac:_default', 'aGk=', 'jwt_keys.hmac:_default=aGk='],
  'a service': ['CARDEA_SERVICES__shop', '/shop http://a', 'services.shop=/shop http://a'],
  'an unused option': ['CARDEA_DATABASE__PASSWORD', 'x', 'database.password=x'],
  'an old name': ['CARDEA_TLS__KEYFILE', 'x', 'tls.keyfile=x'],
  'an earlier section': ['CARDEA_HTTPD__REQUIRE_VALID_USER', 'true', 'httpd.require_valid_user=true'],
  'an empty value': ['CARDEA_CHTTPD_AUTH__SAME_SITE', '', 'chttpd_auth.same_site='],
}

for (const [name, [variable, value, assignment]] of Object.entries(READ)) {
  test(name, () => assert.deepEqual(given({ [variable]: value }), [assignment]))
}

test('ignores variables of other programs and CARDEA_CONFIG', () => {
  const environment = {
    PATH: '/bin',
    CARDEA_CONFIG: 'a',
    CARDEA_SERVICE_HOST: '10.0.0.1',
    CARDEA_SERVICE_PORT: '5984',
    CARDEA_SERVICE_PORT_HTTP: '5984',
    CARDEA_PORT: 'tcp://10.0.0.1:5984',
    CARDEA_PORT_5984_TCP: 'tcp://10.0.0.1:5984',
    CARDEA_PORT_5984_TCP_ADDR: '10.0.0.1',
    CARDEA_ADMIN_SERVICE_HOST: '10.0.0.2',
    CARDEA_ADMIN_PORT: 'tcp://10.0.0.2:5986',
  }
  assert.deepEqual(readEnvironment(environment, OPTION_TABLE), { assignments: [], problems: [] })
})

test('reports an unknown name and suggests the nearest one', () => {
  const { problems } = readEnvironment(
    {
      CARDEA_SERVER__SESION_TIMEOUT: '1',
      CARDEA_FOO__BAR: '1',
      CARDEA_CHTTPD__PORT_FILE: '1',
      CARDEA_ADMINS__: '1',
    },
    OPTION_TABLE,
  )
  assert.deepEqual(problems.map(renderProblem), [
    'unknown option (CARDEA_ADMINS__)',
    'unknown option (CARDEA_CHTTPD__PORT_FILE)',
    'unknown option (CARDEA_FOO__BAR)',
    'unknown option; did you mean CARDEA_SERVER__SESSION_TIMEOUT? (CARDEA_SERVER__SESION_TIMEOUT)',
  ])
})

test('reports a misspelt variable, which would protect nothing', () => {
  for (const name of ['CARDEA_CHTTPD_REQUIRE_VALID_USER', 'cardea_chttpd__require_valid_user']) {
    const { problems } = readEnvironment({ [name]: 'true' }, OPTION_TABLE)
    assert.deepEqual(problems.map(renderProblem), [
      `unknown option; did you mean CARDEA_CHTTPD__REQUIRE_VALID_USER? (${name})`,
    ])
  }
})

test('reports every other variable with the prefix', () => {
  const { problems } = readEnvironment(
    {
      CARDEA_CONFG: 'a',
      CARDEA_LOG_LEVEL: 'debug',
      CARDEA_PORT: '5984',
      CARDEA_CHTTPD_PORT: '5984',
      CARDEA_REQUIRE_VALID_USER: 'true',
      CARDEA_SECRET: 'x',
    },
    OPTION_TABLE,
  )
  assert.deepEqual(problems.map(renderProblem), [
    'unknown option; did you mean CARDEA_CHTTPD__PORT? (CARDEA_CHTTPD_PORT)',
    'unknown option; did you mean CARDEA_CONFIG? (CARDEA_CONFG)',
    'unknown option; did you mean CARDEA_LOG__LEVEL? (CARDEA_LOG_LEVEL)',
    'unknown option (CARDEA_PORT)',
    'unknown option (CARDEA_REQUIRE_VALID_USER)',
    'unknown option (CARDEA_SECRET)',
  ])
})

test('accepts an option in a section of CouchDB or ArangoDB', () => {
  assert.deepEqual(
    readEnvironment({ CARDEA_ROCKSDB__CACHE: '1', CARDEA_COUCH_PERUSER__ENABLE: 'true' }, OPTION_TABLE).problems,
    [],
  )
})

test('reports a secret that is set twice', () => {
  const { problems } = readEnvironment(
    { CARDEA_SERVER__JWT_SECRET: 'x', CARDEA_SERVER__JWT_SECRET_FILE: '/run/s' },
    OPTION_TABLE,
  )
  assert.deepEqual(problems, [
    {
      kind: 'conflict',
      place: 'CARDEA_SERVER__JWT_SECRET_FILE',
      message: 'CARDEA_SERVER__JWT_SECRET sets the same option; remove one of them',
    },
  ])
})
