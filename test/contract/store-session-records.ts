import assert from 'node:assert/strict'
import type { SessionRecord, SessionRecordRange } from '../../src/directory/store-port/sessions.ts'
import type { StoreTests } from './store.ts'
import { isRefusal, lastSequence, listChanges } from './store-values.ts'

const ONE: SessionRecord = {
  id: 'one',
  name: 'alice',
  generation: 2 ** 48 + 5,
  door: 'document',
  createdAt: 1_800_000_010,
  seenAt: 1_800_000_060,
  expiresAt: 1_800_000_600,
  peer: '192.0.2.1',
  userAgent: 'curl/8',
}
const TWO: SessionRecord = { ...ONE, id: 'two', createdAt: 1_800_000_020, generation: undefined, peer: '' }
const THREE: SessionRecord = { ...ONE, id: 'three', name: 'bob', createdAt: 1_800_000_020 }

export const SESSION_RECORD_TESTS: StoreTests = {
  async 'lists sessions, the newest first, page by page'({ store }) {
    await store.putSessionRecords([ONE, TWO, THREE])
    assert.deepEqual(await store.listSessionRecords({ limit: 10 }), [TWO, THREE, ONE])
    assert.deepEqual(await store.listSessionRecords({ limit: 2, after: TWO }), [THREE, ONE])
    assert.deepEqual(await store.listSessionRecords({ limit: 2, after: ONE }), [])
  },

  async 'lists and finds the sessions of one name'({ store }) {
    await store.putSessionRecords([ONE, TWO, THREE])
    assert.deepEqual(await store.listSessionRecords({ name: 'alice', limit: 10 }), [TWO, ONE])
    assert.deepEqual(await store.listSessionRecords({ name: 'alice', limit: 1, after: TWO }), [ONE])
    assert.deepEqual(await store.listSessionRecords({ name: 'a\0', limit: 1 }), [])
    assert.deepEqual(await store.findSessionRecord('three'), THREE)
    assert.equal(await store.findSessionRecord('four'), undefined)
  },

  async 'finds sessions by the beginning of the user, the address or the client, page by page'({ store }) {
    const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0'
    const four = { ...THREE, id: 'four', name: 'alina', peer: '192.0.3.1', userAgent: firefox }
    await store.putSessionRecords([ONE, TWO, THREE, four])
    const find = async (range: Omit<SessionRecordRange, 'limit'>) =>
      (await store.listSessionRecords({ ...range, limit: 2 })).map(({ id }) => id)
    const names = { search: { by: 'user', text: 'al' } } as const
    assert.deepEqual(await find(names), ['four', 'two'])
    assert.deepEqual(await find({ ...names, after: { ...TWO, key: 'alice' } }), ['one'])
    assert.deepEqual(await find({ ...names, openedBefore: TWO.createdAt }), ['one'])
    assert.deepEqual(await find({ ...names, openedFrom: TWO.createdAt }), ['four', 'two'])
    assert.deepEqual(await find({ search: { by: 'address', text: '192.0.2.' } }), ['three', 'one'])
    assert.deepEqual(await find({ search: { by: 'client', text: 'FireFox on L' } }), ['four'])
    assert.deepEqual(await find({ search: { by: 'client', text: 'Linux' } }), [])
    assert.deepEqual(await find({ search: { by: 'user', text: '\0' } }), [])
    assert.deepEqual(await find({ openedBefore: TWO.createdAt }), ['one'])
    assert.deepEqual(await find({ openedFrom: TWO.createdAt + 1 }), [])
  },

  async 'keeps the beginning and the latest use of a known session'({ store, openAnother }) {
    const other = await openAnother()
    await store.putSessionRecords([ONE])
    const used = { seenAt: ONE.seenAt + 60, expiresAt: ONE.expiresAt + 60, peer: '192.0.2.2', userAgent: 'curl/9' }
    await other.putSessionRecords([{ ...ONE, ...used, createdAt: 1_800_000_500 }])
    await store.putSessionRecords([{ ...ONE, peer: '192.0.2.3' }])
    assert.deepEqual(await store.findSessionRecord('one'), { ...ONE, ...used })
  },

  async 'accepts concurrent writes of the same sessions'({ store, openAnother }) {
    const stores = [store, await openAnother()]
    const records = Array.from({ length: 100 }, (_, at) => ({ ...ONE, id: `s${at}` }))
    const writes = Array.from({ length: 10 }, (_, at) =>
      stores[at % 2]?.putSessionRecords(at < 5 ? records : records.toReversed()),
    )
    await Promise.all(writes)
    assert.equal((await store.listSessionRecords({ limit: 1000 })).length, 100)
  },

  async 'replaces a renewal token once'({ store, openAnother }) {
    const other = await openAnother()
    await store.putSessionRecords([ONE, TWO])
    const at = { id: 'one', renewedAt: ONE.seenAt }
    assert.equal(await store.findRenewal('one'), undefined)
    assert.equal(await store.renewSession({ ...at, previous: 'a', digest: 'b' }, 0), false, 'it has none yet')
    assert.equal(await store.renewSession({ ...at, id: 'four', previous: '', digest: 'a' }, 0), false, 'no record')
    assert.equal(await store.renewSession({ ...at, previous: '', digest: 'a' }, ONE.expiresAt + 5), true)
    const renewals = [store, other, store].map((each) =>
      each.renewSession({ ...at, previous: 'a', digest: 'b' }, ONE.expiresAt + 10),
    )
    assert.deepEqual((await Promise.all(renewals)).sort(), [false, false, true])
    const { id, name, generation, createdAt } = ONE
    const renewal = { id, name, generation, createdAt, digest: 'b', previous: 'a', renewedAt: ONE.seenAt }
    assert.deepEqual(await other.findRenewal('one'), renewal)
    const used = { ...ONE, seenAt: ONE.seenAt + 60 }
    await other.putSessionRecords([used])
    assert.deepEqual(await store.findRenewal('one'), renewal, 'a use does not change it')
    assert.deepEqual(await store.findSessionRecord('one'), { ...used, expiresAt: ONE.expiresAt + 10 })
    await store.endSession({ id, name, expiresAt: 1 })
    assert.equal(await store.findRenewal('one'), undefined)
    assert.equal(await store.findRenewal('a\0'), undefined)
  },

  async 'removes an ended session'({ store }) {
    await store.putSessionRecords([ONE, TWO])
    await store.endSession({ id: 'one', name: 'alice', expiresAt: 1 })
    assert.deepEqual(await store.listSessionRecords({ limit: 10 }), [TWO])
  },

  async 'removes expired records'({ store }) {
    await store.putSessionRecords([ONE, { ...TWO, expiresAt: ONE.expiresAt + 1 }])
    assert.equal(await store.purgeSessionRecords(ONE.expiresAt - 1), 0)
    assert.equal(await store.purgeSessionRecords(ONE.expiresAt), 1)
    assert.deepEqual(
      (await store.listSessionRecords({ limit: 10 })).map(({ id }) => id),
      ['two'],
    )
  },

  async 'keeps the newest 1000 records of a name, and all of other names'({ store }) {
    const records = Array.from({ length: 1003 }, (_, at) => ({ ...ONE, id: `s${at}`, createdAt: ONE.createdAt + at }))
    await store.putSessionRecords([...records.slice(0, 500), THREE])
    await store.putSessionRecords(records.slice(500))
    const kept = await store.listSessionRecords({ name: 'alice', limit: 2000 })
    assert.deepEqual(kept, records.slice(3).toReversed())
    assert.deepEqual(await store.findSessionRecord('three'), THREE)
  },

  async 'does not change the directory'({ store }) {
    await store.putSessionRecords([])
    await store.putSessionRecords([ONE])
    assert.equal(await lastSequence(store), 0)
    assert.deepEqual(await listChanges(store, 0, 10), [])
  },

  async 'rejects values that no database can store, and too large pages'({ store }) {
    await assert.rejects(store.putSessionRecords([{ ...ONE, userAgent: 'a\0' }]), isRefusal('bad_request'))
    await assert.rejects(store.putSessionRecords([{ ...ONE, id: 'a\ud800' }]), isRefusal('bad_request'))
    await assert.rejects(store.listSessionRecords({ limit: 10_001 }), RangeError)
  },
}
