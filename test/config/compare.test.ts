import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareSettings } from '../../src/config/settings.ts'
import { createMemoryLayer } from '../../src/live-config/stored-layer.ts'
import { read } from './given.ts'

const settingsOf = (ini: string) => read({ ini }).settings

test('applies live options and keeps the value of those that need a restart', () => {
  const before = settingsOf('[chttpd]\nport = 1\n[log]\nlevel = info')
  const after = settingsOf('[log]\nlevel = warn\n[chttpd]\nport = 2\n')
  const { applied, needRestart, settings } = compareSettings(before, after)
  assert.deepEqual([applied, needRestart], [['log.level'], ['chttpd.port']])
  assert.equal(settings.values.log.level, 'warn')
  assert.equal(settings.values.chttpd.port, 1)
  assert.deepEqual(settings.find('chttpd', 'port'), before.find('chttpd', 'port'))
  assert.ok(Object.isFrozen(settings.values.chttpd))
})

test('reports a removed option that needs a restart, each time', () => {
  const before = settingsOf('[chttpd]\nport = 1')
  const once = compareSettings(before, settingsOf(''))
  const twice = compareSettings(once.settings, settingsOf(''))
  for (const { needRestart, settings } of [once, twice]) {
    assert.deepEqual(needRestart, ['chttpd.port'])
    assert.equal(settings.values.chttpd.port, 1)
    assert.equal(settings.find('chttpd', 'port')?.text, '1')
  }
})

test('has no old text for an option that returns to its default', () => {
  const { settings } = compareSettings(settingsOf(''), settingsOf('[chttpd]\nport = 2'))
  assert.deepEqual(settings.find('chttpd', 'port'), { text: '5984', source: { kind: 'default' } })
})

test('does not report another spelling of the same value', () => {
  const { applied, needRestart } = compareSettings(
    settingsOf('[server]\nharden = true'),
    settingsOf('[server]\nharden = on'),
  )
  assert.deepEqual([applied, needRestart], [[], []])
})

test('names added, removed and changed entries of the open sections', () => {
  const before = settingsOf('[admins]\nann = 1\nbob = 2\n[jwt_keys]\nhmac:a = YQ==')
  const after = settingsOf('[admins]\nann = 1\nbob = 3\ncarl = 4')
  assert.deepEqual(
    new Set(compareSettings(before, after).applied),
    new Set(['admins.bob', 'admins.carl', 'jwt_keys.hmac:a']),
  )
})

test('reports added, removed and changed services as waiting for a restart, each time', () => {
  const before = settingsOf('[services]\nshop = /shop http://a\nold = /old http://b')
  const after = settingsOf('[services]\nshop = /shop http://a required\nnew = /new http://c\n[log]\nlevel = warn')
  const once = compareSettings(before, after)
  const twice = compareSettings(once.settings, after)
  assert.deepEqual(once.applied, ['log.level'])
  assert.deepEqual(twice.applied, [])
  for (const { needRestart, settings } of [once, twice]) {
    assert.deepEqual(new Set(needRestart), new Set(['services.shop', 'services.old', 'services.new']))
    assert.deepEqual(settings.open.services, before.open.services)
    assert.equal(settings.find('services', 'shop')?.text, '/shop http://a')
    assert.equal(settings.find('services', 'new'), undefined)
  }
})

test('reports an administrator deleted at run time', () => {
  const before = read({ ini: '[admins]\nann = 1' }).settings
  const after = read({
    ini: '[admins]\nann = 1',
    runtime: [{ section: 'admins', key: 'ann', text: undefined }],
  }).settings
  assert.deepEqual(compareSettings(before, after).applied, ['admins.ann'])
})

test('the memory layer keeps the mark of a deletion until it is forgotten', async () => {
  const layer = createMemoryLayer()
  await layer.set('admins', 'ann', 'x')
  await layer.set('log', 'level', 'warn')
  await layer.set('log', 'level', 'info')
  assert.deepEqual(await layer.list(), [
    { section: 'admins', key: 'ann', text: 'x' },
    { section: 'log', key: 'level', text: 'info' },
  ])
  await layer.unset('admins', 'ann')
  await layer.unset('log', 'level')
  assert.equal((await layer.list()).length, 2)
  await layer.forget('log', 'level')
  assert.deepEqual(await layer.list(), [{ section: 'admins', key: 'ann', text: undefined }])
})
