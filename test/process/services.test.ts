import assert from 'node:assert/strict'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { runCommand } from '../support/commands.ts'
import { startShared } from '../support/hosted-server.ts'
import { FREE_PORTS, IN_MEMORY } from '../support/process.ts'
import { makeFolder } from '../support/scope.ts'

const SERVE = ['serve', ...IN_MEMORY, '--admins.admin', 'pw', '--services.shop', '/shop http://127.0.0.1:1']

test('an open service is printed as OPEN TO ANYONE, a closed one is not', async (t) => {
  const open = startShared(t, SERVE)
  await open.doors()
  assert.match(open.stdout() + open.stderr(), /"level":40.*shop at \/shop is OPEN TO ANYONE/)
  const closed = startShared(t, [...SERVE.slice(0, -1), '/shop http://127.0.0.1:1 required'])
  await closed.doors()
  assert.doesNotMatch(closed.stdout() + closed.stderr(), /OPEN TO ANYONE/)
})

const INCOMPLETE: readonly (readonly [name: string, ...flags: string[]])[] = [
  ['a document upstream without a secret', '--upstream.document', 'http://127.0.0.1:1'],
  ['a multi-model upstream without a secret', '--upstream.multi-model', 'http://127.0.0.1:1'],
]

for (const [name, ...flags] of INCOMPLETE)
  test(`${name} does not start`, async () => {
    const { code, stderr } = await runCommand(['serve', ...IN_MEMORY, '--admins.admin', 'pw', ...flags])
    assert.notEqual(code, 0)
    assert.match(stderr, /secret/)
  })

test('every invalid line of services is reported with its place, before a store is created', async (t) => {
  const folder = makeFolder(t)
  const lines = [
    ...['a = /a ftp://x', 'b = /_b http://127.0.0.1:1', 'c = c http://127.0.0.1:1', 'd = /d http://127.0.0.1:1 maybe'],
    ...['e = /e http://127.0.0.1:1', 'f = /e http://127.0.0.1:2', 'gate = /g http://127.0.0.1:1'],
  ]
  writeFileSync(join(folder, 'bad.ini'), ['[services]', ...lines, '[admins]', 'admin = pw'].join('\n'), { mode: 0o600 })
  for (const words of [
    ['serve', ...FREE_PORTS],
    ['config', 'check'],
  ]) {
    const { code, stderr } = await runCommand([...words, '-c', 'bad.ini'], { cwd: folder })
    assert.equal(code, 4)
    const places = [...stderr.matchAll(/^\[services\] (\w+): .* \(bad\.ini:(\d+)\)$/gm)].map(([, name, line]) => [
      line,
      name,
    ])
    const expected = ['a', 'b', 'c', 'd', 'f', 'gate'].map((name, at) => [`${at < 4 ? at + 2 : at + 3}`, name])
    assert.deepEqual(places, expected, words.join(' '))
  }
  assert.deepEqual(readdirSync(folder), ['bad.ini'])
})
