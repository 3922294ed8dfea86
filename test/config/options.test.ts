import assert from 'node:assert/strict'
import { test } from 'node:test'
import { whole } from '../../src/config/codecs.ts'
import { FOREIGN_NAMES, findTarget } from '../../src/config/compatibility.ts'
import { variableOf } from '../../src/config/environment.ts'
import { CORE_OPTIONS, live } from '../../src/config/option-table.ts'
import { type Config, isConcealed, splitName, toWireNames } from '../../src/config/options.ts'
import { OPTION_TABLE } from '../../src/module-options.ts'
import { read } from './given.ts'

test('every default can be printed and parsed again', () => {
  for (const { name, option: row } of OPTION_TABLE.rows) {
    const text = row.codec.print(row.initial)
    assert.deepEqual(row.codec.parse(text), row.initial, name)
  }
})

test('every default can be written to a file', () => {
  for (const { section, key, name, option: row } of OPTION_TABLE.rows) {
    const text = row.codec.print(row.initial)
    const { settings, problems } = read({ ini: `[${section}]\n${key} = ${text}\n` })
    assert.deepEqual(problems, [], name)
    assert.equal(settings.find(section, key)?.text, text, name)
  }
})

test('every option has a help text of one sentence', () => {
  for (const { name, option: row } of OPTION_TABLE.rows) {
    assert.match(row.help, /^[A-Z](?!.*\. [A-Z]).{5,110}\.$/, name)
    assert.match(row.more ?? 'None.', /\.$/, name)
  }
})

test('no two names have the same variable', () => {
  const names = [...OPTION_TABLE.rows.map((row) => row.name), ...FOREIGN_NAMES]
  const variables = names.map((name) => variableOf(splitName(name).section, splitName(name).key))
  assert.equal(new Set(variables).size, variables.length)
})

test('no name of CouchDB or ArangoDB hides an option', () => {
  for (const name of FOREIGN_NAMES) {
    const { section, key } = splitName(name)
    assert.equal(OPTION_TABLE.find(section, key), undefined, name)
    assert.notEqual(findTarget(OPTION_TABLE, section, key).kind, 'unknown option', name)
  }
})

test('every section has a description', () => {
  assert.deepEqual([...OPTION_TABLE.sections.keys()], [...new Set(OPTION_TABLE.rows.map(({ section }) => section))])
})

test('options about files, stores, certificates, upstreams and signing secrets cannot be set at run time', () => {
  const closed = OPTION_TABLE.rows.filter(
    ({ section, name, option: row }) =>
      ['store', 'ssl', 'upstream'].includes(section) || name.startsWith('server.jwt-secret') || row.codec.resolve,
  )
  assert.ok(closed.length > 10)
  for (const { name, option: row } of closed) assert.ok(row.fixed, name)
})

test('names of object prototypes are not options', () => {
  for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty']) {
    assert.equal(OPTION_TABLE.find('chttpd', name), undefined)
    assert.equal(OPTION_TABLE.find(name, name), undefined)
    assert.equal(findTarget(OPTION_TABLE, name, name).kind, 'unknown section')
    assert.equal(findTarget(OPTION_TABLE, 'chttpd', name).kind, 'unknown option')
  }
})

test('the types of values are those of their codecs', () => {
  const { settings } = read({})
  const port: number | 'none' = settings.values.chttpd.port
  const sameSite: '' | 'none' | 'lax' | 'strict' = settings.values.chttpd_auth.same_site
  assert.deepEqual([port, sameSite], [5984, ''])
  // @ts-expect-error there is no such option
  const missing: Config['chttpd']['prot'] | undefined = undefined
  assert.equal(missing, undefined)
  // @ts-expect-error a default outside the codec's values does not compile
  live(whole(1), 'one', '')
})

test('hides a URL only if it can contain a password, and never an empty secret', () => {
  const url = CORE_OPTIONS.store.url
  assert.equal(isConcealed(url, 'sqlite:data/cardea.db'), false)
  assert.equal(isConcealed(url, 'postgres://u:p@h/db'), true)
  assert.equal(isConcealed(CORE_OPTIONS.chttpd_auth.secret, ''), false)
  assert.equal(isConcealed(CORE_OPTIONS.chttpd_auth.secret, 'x'), true)
  assert.equal(isConcealed(CORE_OPTIONS.chttpd.port, '1'), false)
})

test('derives header and claim names from the product names unless an option sets them', () => {
  assert.deepEqual(toWireNames(read({}).settings.values), {
    userNameHeader: 'X-Auth-CouchDB-UserName',
    rolesHeader: 'X-Auth-CouchDB-Roles',
    tokenHeader: 'X-Auth-CouchDB-Token',
    rolesClaim: '_couchdb.roles',
    userIdPrefix: 'org.couchdb.user:',
    realm: 'ArangoDB',
    issuer: 'arangodb',
  })
  const given = read({
    argv: ['--document.name', 'Couch', '--chttpd_auth.x_auth_roles', 'X-What', '--multi-model.name', 'Many'],
  })
  const names = toWireNames(given.settings.values)
  assert.equal(names.userNameHeader, 'X-Auth-Couch-UserName')
  assert.equal(names.rolesHeader, 'X-What')
  assert.deepEqual([names.realm, names.issuer], ['Many', 'many'])
})
