import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { SILENT_LOG } from '../../src/base/log.ts'
import type { Store } from '../../src/directory/store-port/store.ts'
import { openStore } from '../../src/store/create-store.ts'
import { createIn } from '../contract/store-values.ts'

const setting = { section: 'chttpd', key: 'port', text: '1', nowSeconds: 1 }

/** A store, and how often it has announced a change. */
async function open(t: TestContext, announce = async () => {}) {
  const announced = { times: 0 }
  const store = await openStore('sqlite::memory:', {
    log: SILENT_LOG,
    announce: () => {
      announced.times += 1
      return announce()
    },
  })
  t.after(() => store.close())
  return { store, announced }
}

const FOLLOWED: Readonly<Record<string, (store: Store) => Promise<unknown>>> = {
  'a user': (store) => createIn(store, 'ada'),
  'a setting': (store) => store.setSetting(setting),
  'the removal of a setting': (store) => store.unsetSetting(setting),
  'the end of a session': (store) => store.endSession({ id: 'x', name: 'ada', expiresAt: 9 }),
}

const NOT_FOLLOWED: Readonly<Record<string, (store: Store) => Promise<unknown>>> = {
  'what a server writes while it applies its configuration': (store) => store.unannounced.setSetting(setting),
  'a sign-in': (store) => store.putSignIns([{ name: 'ada', at: 1, peer: '' }]),
  'a test of writing': (store) => store.checkWrites(),
  'a setting that conflicts': async (store) =>
    store.setSetting({ ...setting, unchangedSince: { sequence: 0, mark: 'unknown' } }),
}

describe('a store announces', () => {
  for (const [what, write] of Object.entries(FOLLOWED))
    it(`${what}, before the operation resolves`, async (t) => {
      const applied = Promise.withResolvers<void>()
      const { store, announced } = await open(t, () => applied.promise)
      let isDone = false
      const writing = write(store).then(() => {
        isDone = true
      })
      await new Promise((resolve) => setImmediate(resolve))
      assert.deepEqual([announced.times, isDone], [1, false])
      applied.resolve()
      await writing
    })

  for (const [what, write] of Object.entries(NOT_FOLLOWED))
    it(`nothing for ${what}`, async (t) => {
      const { store, announced } = await open(t)
      await write(store)
      assert.equal(announced.times, 0)
    })
})
