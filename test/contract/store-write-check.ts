import assert from 'node:assert/strict'
import { MIGRATIONS } from '../../src/store/migrations.ts'
import type { StoreTests } from './store.ts'
import { isRefusal, lastSequence } from './store-values.ts'

const TABLES = MIGRATIONS.flatMap(({ sqlite }) => [...sqlite.matchAll(/CREATE TABLE (\w+)/g)].map(([, name]) => name))

export const WRITE_CHECK_TESTS: StoreTests = {
  'changes nothing': async ({ store }) => {
    await store.checkWrites()
    assert.deepEqual(await store.listNodes(), [])
    assert.equal(await lastSequence(store), 0)
  },

  'fails without any one of the tables, and so does what needs it': async ({ store, place }) => {
    for (const table of TABLES) {
      await place.execute(`ALTER TABLE ${table} RENAME TO lost`)
      await assert.rejects(store.checkWrites(), isRefusal('store_unavailable'), table)
      if (table === 'cardea_users') await assert.rejects(store.findUser('ada'), isRefusal('store_unavailable'))
      await place.execute(`ALTER TABLE lost RENAME TO ${table}`)
      await store.checkWrites()
    }
  },
}
