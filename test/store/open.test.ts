import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inspect } from 'node:util'
import { SILENT_LOG } from '../../src/base/log.ts'
import { openStore } from '../../src/store/create-store.ts'

const WRONG = [
  '',
  'sqlite',
  'sqlite:',
  'sqlite://',
  'mysql://root:hunter2@host/db',
  'data/cardea.db',
  'SQLITE:x',
  ' sqlite:x',
]

describe('addresses of a store', () => {
  for (const url of WRONG) {
    it(`${JSON.stringify(url)} is rejected with a message that does not quote it`, async () => {
      const wrong = await openStore(url, { log: SILENT_LOG }).catch((error: unknown) => error)
      assert.ok(wrong instanceof Error && wrong.name === 'IncompatibleStoreError')
      assert.doesNotMatch(inspect(wrong), /hunter2/)
    })
  }

  it('the driver of PostgreSQL is not loaded for SQLite', async () => {
    await (await openStore('sqlite::memory:', { log: SILENT_LOG })).close()
    const { createRequire } = await import('node:module')
    const loaded = Object.keys(createRequire(import.meta.url).cache)
    assert.deepEqual(
      loaded.filter((path) => path.includes('/node_modules/pg/')),
      [],
    )
  })
})
