import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkChange } from '../../src/config/change.ts'
import { OPTION_TABLE } from '../../src/module-options.ts'
import { read } from './given.ts'

const { settings } = read({
  ini: '[cors]\norigins = *\n[chttpd_auth]\nsecret = hush\n',
  env: { CARDEA_LOG__LEVEL: 'warn', CARDEA_JWT_KEYS__hmac_FILE: '/s' },
  argv: [
    '--chttpd.enable_cors',
    '--jwt_keys.hmac:pinned',
    'aGk=',
    '--admins.root',
    'pw',
    '--server.authenticate-system-only',
    'false',
  ],
  secrets: { '/s': 'x' },
})

const ALLOWED: readonly (readonly [section: string, key: string, text: string | undefined])[] = [
  ['chttpd_auth', 'timeout', '1'],
  ['chttpd_auth', 'timeout', undefined],
  ['chttpd_auth', 'secret', 'another'],
  ['chttpd_auth', 'secret', undefined],
  ['chttpd', 'port', '0'],
  ['jwt_keys', 'hmac:_default', 'aG8='],
  ['jwt_auth', 'required_claims', 'exp, {iss, "https://issuer.example"}'],
  ['jwt_auth', 'required_claims', ''],
  ['admins', 'root', 'new password'],
  ['admins', 'x', '***'],
  ['admins', 'root', undefined],
  ['mine', 'colour', 'blue'],
  ['mine', 'tab', 'a\tb'],
  ['couchdb', 'max_document_size', '1'],
  ['httpd', 'max_uri_length', '9'],
]

for (const [section, key, text] of ALLOWED) {
  test(`allows [${section}] ${key} = ${text}`, () => assert.equal(checkChange(settings, section, key, text), undefined))
}

const REFUSED: readonly (readonly [section: string, key: string, text: string | undefined, kind: string])[] = [
  ['', 'k', 'v', 'invalid-section'],
  ['a]\n[admins', 'k', 'v', 'invalid-section'],
  ['admins]', 'k', 'v', 'invalid-section'],
  ['mine', 'k\r\nx', 'v', 'invalid-key'],
  ['mine', '', 'v', 'invalid-key'],
  ['mine', 'k', 'v\n[admins]\nevil = pw', 'invalid-value'],
  ['chttpd_auth', 'timout', '1', 'unknown-option'],
  ['chttpd_auth', 'Timeout', '1', 'unknown-option'],
  ['chttpd_auth', ' timeout', '1', 'unknown-option'],
  ['chttpd_auth', 'timout', undefined, 'unknown-option'],
  ['jwt_keys', 'hmca:a', 'aGk=', 'unknown-option'],
  ['chttpd_auth', 'timeout', 'x', 'bad-value'],
  ['chttpd_auth', 'secret', '@file:/etc/passwd', 'bad-value'],
  ['jwt_keys', 'hmac:a', '@file:/etc/passwd', 'bad-value'],
  ['httpd', 'require_valid_user', 'True', 'bad-value'],
  ['chttpd_auth', 'secret', '***', 'masked'],
  ['jwt_keys', 'hmac:a', '***', 'masked'],
  ['cors', 'credentials', 'true', 'conflict'],
  ['jwt_keys', 'hmac:a', 'aHVzaA==', 'conflict'],
  ['log', 'level', 'info', 'pinned'],
  ['log', 'level', undefined, 'pinned'],
  ['chttpd', 'enable_cors', 'false', 'pinned'],
  ['jwt_keys', 'hmac:pinned', 'aGk=', 'pinned'],
  ['server', 'authentication-system-only', 'true', 'pinned'],
  ['server', 'authenticate-system-only', 'true', 'pinned'],
  ['services', 'shop', '/shop http://a', 'not-settable'],
  ['services', 'shop', undefined, 'not-settable'],
  ['jwt_keys', 'jwks:x', '/etc/passwd', 'not-settable'],
  ['tls', 'keyfile', '/k.pem', 'not-settable'],
  ['server', 'jwt-secret', 'x', 'not-settable'],
]

for (const [section, key, text, kind] of REFUSED) {
  test(`rejects as ${kind}: ${JSON.stringify([section, key, text])}`, () => {
    const problem = checkChange(settings, section, key, text)
    assert.equal(problem?.kind, kind)
    assert.doesNotMatch(problem?.message ?? '', /hush|aHVzaA/)
  })
}

test('names the flag or variable that has precedence', () => {
  assert.match(checkChange(settings, 'log', 'level', 'info')?.message ?? '', /^CARDEA_LOG__LEVEL /)
  assert.match(checkChange(settings, 'chttpd', 'enable_cors', 'true')?.message ?? '', /^--chttpd\.enable_cors /)
})

test('suggests the nearest option', () => {
  assert.equal(checkChange(settings, 'chttpd_auth', 'timout', '1')?.nearest, 'timeout')
  assert.equal(checkChange(settings, 'jwt_keys', 'hmca:a', 'x')?.nearest, 'hmac:a')
})

test('rejects every option that cannot be changed at run time, under each of its names', () => {
  const bare = read({}).settings
  for (const { section, key, name, option } of OPTION_TABLE.rows.filter((row) => row.option.fixed !== undefined)) {
    const text = option.codec.print(option.initial)
    assert.equal(checkChange(bare, section, key, text)?.kind, 'not-settable', name)
    for (const other of [key.toUpperCase(), ` ${key}`, `${key} `, `${key};`]) {
      assert.notEqual(checkChange(bare, section, other, text), undefined, `${section} ${other}`)
    }
  }
})
