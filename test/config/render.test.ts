import assert from 'node:assert/strict'
import { test } from 'node:test'
import { renderDefaultIni, renderOptionsPage } from '../../scripts/options-page.ts'
import { describeSettings, renderNotices, renderSettings, toShownText } from '../../src/config/describe.ts'
import { readIni } from '../../src/config/ini.ts'
import { renderHelp } from '../../src/config/render.ts'
import { OPTION_TABLE } from '../../src/module-options.ts'
import { read } from './given.ts'

const uncomment = (ini: string) => ini.replace(/^;(?=[^ ;\n])/gm, '')

test('default.ini sets nothing', () => {
  const { entries, unparsable } = readIni(renderDefaultIni())
  assert.deepEqual([entries, unparsable], [[], []])
})

test('default.ini contains the defaults if every option is uncommented', () => {
  const { settings, problems, warnings } = read({ ini: uncomment(renderDefaultIni()) })
  assert.deepEqual([problems, warnings], [[], []])
  const expected = { ...read({}).settings.values, store: { ...settings.values.store } }
  assert.deepEqual(settings.values, expected)
  assert.equal(settings.values.store.url, 'sqlite:/etc/cardea/data/cardea.db')
  assert.deepEqual(settings.ignored, [])
})

test('every option is on the page, in the help and in default.ini', () => {
  const [page, help, ini] = [renderOptionsPage(), renderHelp(OPTION_TABLE) ?? '', renderDefaultIni()]
  for (const { key, name } of OPTION_TABLE.rows) {
    assert.ok(page.includes(`| \`${key}\` |`), name)
    assert.ok(help.includes(`--${name} <`), name)
    assert.ok(ini.includes(`\n;${key} =`), name)
  }
})

test('the page lists every word of a boolean option', () => {
  const line = /^- \*\*Boolean options\*\* are on with (.+), and off with (.+)\.$/m.exec(renderOptionsPage())
  for (const [index, value] of [true, false].entries()) {
    const words = [...(line?.[index + 1] ?? '').matchAll(/`(\w+)`/g)].map(([, word = '']) => word)
    assert.equal(words.length, 4)
    for (const word of words) {
      const { settings, problems } = read({ ini: `[cors]\ncredentials = ${word}` })
      assert.deepEqual([problems, settings.values.cors.credentials], [[], value], word)
    }
  }
})

test('every table row of the page has the same number of cells', () => {
  const rows = renderOptionsPage()
    .split('\n## chttpd\n')[1]
    ?.split('\n')
    .filter((line) => line.startsWith('| '))
  const widths = new Set(rows?.map((row) => row.split(/(?<!\\)\|/).length))
  assert.deepEqual([...widths], [6])
})

test('prints the help of one section', () => {
  const help = renderHelp(OPTION_TABLE, 'ssl') ?? ''
  assert.match(help, /^\[ssl\]/)
  assert.ok(help.includes('--ssl.port') && !help.includes('--chttpd.port'))
  assert.match(help, /relative path/)
  assert.match(renderHelp(OPTION_TABLE, 'admins') ?? '', /--admins\.NAME/)
  assert.match(
    renderHelp(OPTION_TABLE, 'services') ?? '',
    /--services\.NAME <\/mount http:.*\n +Needs a restart\. Cannot be changed at run time\./,
  )
  for (const section of ['nothing', '__proto__', 'constructor', ''])
    assert.equal(renderHelp(OPTION_TABLE, section), undefined, section)
})

const SECRETIVE = {
  ini: '[admins]\nroot = hush\n[jwt_keys]\nhmac:a = aHVzaA==\n[mine]\ndb_password = hush\nplain = seen\n',
  env: {
    CARDEA_CHTTPD_AUTH__SECRET: 'hush-cookie',
    CARDEA_STORE__URL: 'postgres://u:hush@h/db',
    CARDEA_DATABASE__PASSWORD: 'hush',
  },
  argv: [
    '--upstream.document-secret',
    'hush-upstream',
    '--server.jwt-secret',
    'hush-token',
    '--services.shop',
    '/shop http://a',
  ],
}

test('never shows a secret', () => {
  const { settings, problems, warnings } = read(SECRETIVE)
  const all = [
    renderSettings(settings, { all: true }),
    JSON.stringify(describeSettings(settings)),
    ...renderNotices(settings),
  ]
  for (const text of [...all, JSON.stringify(problems), ...warnings]) assert.doesNotMatch(text, /hush|aHVzaA/)
})

test('shows current settings with their sources', () => {
  const { settings } = read(SECRETIVE)
  const lines = renderSettings(settings).trimEnd().split('\n')
  assert.deepEqual(lines, [
    'chttpd_auth.secret = ***  (CARDEA_CHTTPD_AUTH__SECRET)',
    'server.jwt-secret = ***  (--server.jwt-secret)',
    'store.url = ***  (CARDEA_STORE__URL)',
    'upstream.document-secret = ***  (--upstream.document-secret)',
    'admins.root = ***  (/etc/cardea/local.ini:2)',
    'jwt_keys.hmac:a = ***  (/etc/cardea/local.ini:4)',
    'services.shop = /shop http://a  (--services.shop)',
    'mine.db_password = ***  (/etc/cardea/local.ini:6; ignored)',
    'mine.plain = seen  (/etc/cardea/local.ini:7; ignored)',
    'database.password = ***  (CARDEA_DATABASE__PASSWORD; ignored)',
  ])
  assert.match(renderSettings(settings, { all: true }), /^chttpd\.port = 5984 {2}\(default\)$/m)
})

test('summarises settings without effect for the log', () => {
  const { settings } = read({ ini: '[vendor]\na = 1' })
  assert.deepEqual(renderNotices(settings), ['ignored, because Cardea does not use it: [vendor] a'])
  assert.deepEqual(renderNotices(read({}).settings), [])
})

test('shows configured text unless it is a secret', () => {
  assert.equal(toShownText(OPTION_TABLE, { section: 'chttpd', key: 'port', text: '1' }), '1')
  assert.equal(toShownText(OPTION_TABLE, { section: 'chttpd_auth', key: 'secret', text: 'x' }), '***')
  assert.equal(toShownText(OPTION_TABLE, { section: 'chttpd_auth', key: 'secret', text: '@file:x' }), '***')
  assert.equal(toShownText(OPTION_TABLE, { section: 'jwt_keys', key: 'rsa:a', text: 'x' }), '***')
  assert.equal(toShownText(OPTION_TABLE, { section: 'couch_httpd_auth', key: 'secret', text: 'x' }), '***')
})
