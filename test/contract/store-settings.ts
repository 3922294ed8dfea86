import assert from 'node:assert/strict'
import type { Store } from '../../src/directory/store-port/store.ts'
import { loseWrites } from '../support/lose-writes.ts'
import type { StoreTests } from './store.ts'
import { create, isRefusal, lastSequence, sequenceOf } from './store-values.ts'

const TIMEOUT = { section: 'chttpd_auth', key: 'timeout', nowSeconds: 1000 }
const ADMIN = { section: 'admins', key: 'root', nowSeconds: 1000 }

const texts = async (store: Store): Promise<(readonly [string, string | undefined])[]> =>
  (await store.listSettings()).settings.map(({ section, key, text }) => [`${section}/${key}`, text])

const UNSTORABLE: readonly [row: string, change: Partial<typeof TIMEOUT & { text: string }>][] = [
  ['U+0000 in the text', { text: 'a\0' }],
  ['a lone surrogate in the text', { text: '\ud800' }],
  ['U+0000 in the key', { key: 'a\0' }],
  ['a key of kilobytes', { key: 'x'.repeat(2000) }],
  ['U+0000 in the section', { section: 'a\0' }],
]

export const SETTING_TESTS: StoreTests = {
  async 'is empty at first'({ store }) {
    assert.deepEqual(await store.listSettings(), { settings: [], position: await store.head() })
  },

  async 'lists a setting with its time and change'({ store }) {
    await store.setSetting({ ...TIMEOUT, text: '600' })
    await store.setSetting({ ...TIMEOUT, text: '700', nowSeconds: 1001 })
    const position = await store.head()
    const setting = { section: 'chttpd_auth', key: 'timeout', text: '700', changedAt: 1001, ...position }
    assert.deepEqual(await store.listSettings(), { settings: [setting], position })
  },

  async 'writes several settings together, or none'({ store }) {
    const also = [
      { section: '[admins] totp', key: 'root' },
      { section: '[admins] x', key: 'root', text: 'more' },
    ]
    await store.setSetting({ ...TIMEOUT, section: '[admins] totp', key: 'root', text: 'key' })
    const unchangedSince = await store.head()
    await store.setSetting({ ...ADMIN, text: 'hash', unchangedSince, also })
    const written = [
      ['[admins] x/root', 'more'],
      ['admins/root', 'hash'],
    ]
    assert.deepEqual(await texts(store), written)
    const { settings, position } = await store.listSettings()
    assert.equal(new Set(settings.map(({ sequence }) => sequence)).size, 2)
    assert.equal(Math.max(...settings.map(({ sequence }) => sequence)), position.sequence)
    // a section of the others has changed meanwhile
    const late = { ...ADMIN, key: 'other', text: 'hash', unchangedSince }
    assert.equal((await store.setSetting({ ...late, section: 'new', also })).kind, 'conflict')
    assert.deepEqual(await texts(store), written)
    await assert.rejects(
      store.setSetting({ ...ADMIN, text: 'x', also: [{ section: 'x', key: 'a\0' }] }),
      isRefusal('bad_request'),
    )
  },

  async 'of a user and an administrator of nearly one name, only the first is written'({ store }) {
    const write = (name: string) => store.writeUser({ ...create(name), isDistinct: true })
    const admin = (key: string) => store.setSetting({ ...ADMIN, key, text: 'x', isDistinct: true })
    assert.equal((await write('Gus')).kind, 'written')
    assert.equal((await admin('gus')).kind, 'look-alike')
    assert.equal((await admin('Gus')).kind, 'written')
    assert.equal((await admin('eve')).kind, 'written')
    assert.equal((await write('EVE')).kind, 'look-alike')
    await store.unsetSetting({ ...ADMIN, key: 'eve' })
    assert.equal((await write('EVE')).kind, 'written')
  },

  async 'stores any text unchanged'({ store }) {
    const values = ['', ' ', '-pbkdf2-a,b,1', 'two\nlines', '🦊', 'x'.repeat(100_000)]
    for (const [i, text] of values.entries()) await store.setSetting({ ...TIMEOUT, key: `key-${i}`, text })
    assert.deepEqual(
      (await store.listSettings()).settings.map(({ text }) => text),
      values,
    )
  },

  async 'does not list an unset setting'({ store }) {
    await store.setSetting({ ...TIMEOUT, text: '600' })
    sequenceOf(await store.unsetSetting(TIMEOUT))
    assert.deepEqual(await store.listSettings(), { settings: [], position: { ...(await store.head()), sequence: 2 } })
  },

  async 'an unset setting can be set again'({ store }) {
    await store.unsetSetting(TIMEOUT)
    await store.setSetting({ ...TIMEOUT, text: '600' })
    assert.deepEqual(await texts(store), [['chttpd_auth/timeout', '600']])
  },

  async 'a deleted administrator leaves a tombstone'({ store }) {
    await store.setSetting({ ...ADMIN, text: 'hash' })
    await store.unsetSetting({ ...ADMIN, nowSeconds: 1005 })
    const tombstone = { section: 'admins', key: 'root', text: undefined, changedAt: 1005, ...(await store.head()) }
    assert.deepEqual((await store.listSettings()).settings, [tombstone])
  },

  async 'an administrator that was never stored leaves a tombstone too'({ store }) {
    await store.unsetSetting(ADMIN)
    assert.deepEqual(await texts(store), [['admins/root', undefined]])
  },

  async 'setting a deleted administrator replaces its tombstone'({ store }) {
    await store.unsetSetting(ADMIN)
    await store.setSetting({ ...ADMIN, text: 'hash' })
    assert.deepEqual(await texts(store), [['admins/root', 'hash']])
  },

  async 'a section that changed meanwhile is a conflict'({ store }) {
    const { position } = await store.listSettings()
    const current = sequenceOf(await store.setSetting({ ...ADMIN, key: 'other', text: 'hash' }))
    const late = { ...ADMIN, text: 'late', unchangedSince: position }
    assert.deepEqual(await store.setSetting(late), { kind: 'conflict', current })
    assert.deepEqual(await store.unsetSetting(late), { kind: 'conflict', current })
    assert.deepEqual(await texts(store), [['admins/other', 'hash']])
    assert.equal(await lastSequence(store), current)
  },

  async 'a change of another section is not a conflict'({ store }) {
    const { position } = await store.listSettings()
    await store.setSetting({ ...TIMEOUT, text: '600' })
    sequenceOf(await store.setSetting({ ...ADMIN, text: 'hash', unchangedSince: position }))
  },

  async 'an unset setting that is not listed causes no conflict'({ store }) {
    await store.setSetting({ ...TIMEOUT, text: '600' })
    await store.unsetSetting(TIMEOUT)
    const { position } = await store.listSettings()
    sequenceOf(await store.setSetting({ ...TIMEOUT, text: '700', unchangedSince: position }))
  },

  async 'a position of another history is a conflict'({ store, place }) {
    await store.setSetting({ ...ADMIN, text: 'hash' })
    const { position } = await store.listSettings()
    await loseWrites(place.execute, 0)
    const current = sequenceOf(await store.setSetting({ ...ADMIN, text: 'other' }))
    const late = { ...ADMIN, text: 'late', unchangedSince: position }
    assert.deepEqual(await store.setSetting(late), { kind: 'conflict', current })
    assert.deepEqual(await texts(store), [['admins/root', 'other']])
  },

  async 'one of many nodes seeds an administrator'({ store, openAnother }) {
    const stores = [store, await openAnother()]
    const unchangedSince = await store.head()
    const seeds = Array.from({ length: 10 }, (_, i) =>
      (stores[i % 2] ?? store).setSetting({ ...ADMIN, text: `hash-${i}`, unchangedSince }),
    )
    const outcomes = await Promise.all(seeds)
    assert.equal(outcomes.filter(({ kind }) => kind === 'written').length, 1)
    const winner = outcomes.findIndex(({ kind }) => kind === 'written')
    assert.deepEqual(await texts(store), [['admins/root', `hash-${winner}`]])
  },

  async 'rejects text that no database can store'({ store }) {
    for (const [row, change] of UNSTORABLE) {
      await assert.rejects(store.setSetting({ ...TIMEOUT, text: '600', ...change }), isRefusal('bad_request'), row)
    }
    assert.equal(await lastSequence(store), 0)
  },
}
