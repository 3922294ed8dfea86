import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IN_MEMORY, run, start } from '../support/process.ts'

const SERVE = ['serve', ...IN_MEMORY, '--admins.admin', 'pw', '--services.shop', '/shop http://127.0.0.1:1']

test('an open service is printed as OPEN TO ANYONE, a closed one is not', async (t) => {
  const open = start(t, SERVE)
  await open.doors()
  assert.match(open.stdout() + open.stderr(), /shop at \/shop is OPEN TO ANYONE/)
  const closed = start(t, [...SERVE.slice(0, -1), '/shop http://127.0.0.1:1 required'])
  await closed.doors()
  assert.doesNotMatch(closed.stdout() + closed.stderr(), /OPEN TO ANYONE/)
})

const INCOMPLETE: readonly (readonly [name: string, ...flags: string[]])[] = [
  ['a document upstream without a secret', '--upstream.document', 'http://127.0.0.1:1'],
  ['a multi-model upstream without a secret', '--upstream.multi-model', 'http://127.0.0.1:1'],
]

for (const [name, ...flags] of INCOMPLETE)
  test(`${name} does not start`, async (t) => {
    const { code, stderr } = await run(t, ['serve', ...IN_MEMORY, '--admins.admin', 'pw', ...flags])
    assert.notEqual(code, 0)
    assert.match(stderr, /secret/)
  })
