import assert from 'node:assert/strict'
import { it } from 'node:test'
import { SILENT_LOG } from '../../src/base/log.ts'
import type { Passkey } from '../../src/directory/users/user.ts'
import { noteCounter } from '../../src/modules/passkeys/counters.ts'
import { openStore } from '../../src/store/create-store.ts'

const PASSKEY: Passkey = {
  id: 'AAAA',
  publicKey: 'BBBB',
  label: 'laptop',
  createdAt: 1,
  rpId: 'localhost',
  transports: [],
  isSynced: false,
}

it('of two copies of a passkey that use the same count at the same time, one is noticed', async (t) => {
  const store = await openStore('sqlite::memory:', { log: SILENT_LOG })
  t.after(() => store.close())
  const note = (counter: number) => noteCounter(store.statements, PASSKEY, counter)
  assert.deepEqual((await Promise.all([note(5), note(5)])).toSorted(), [false, true])
  assert.equal(await note(5), true)
  assert.equal(await note(0), true)
  assert.equal(await note(7), false)
})
