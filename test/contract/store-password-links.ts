import assert from 'node:assert/strict'
import { PROGRAM } from '../../src/directory/caller.ts'
import { findLink, putLink, spendLink } from '../../src/modules/password-links/links.ts'
import type { StoreTests } from './store.ts'
import { createIn, deleteIn, isRefusal } from './store-values.ts'

const link = (name: string, digest: string, expiresAt = 100, purpose = 'password') => ({
  purpose,
  name,
  digest,
  version: 'v',
  data: 'd',
  expiresAt,
})

export const PASSWORD_LINK_TESTS: StoreTests = {
  async 'a link is found by every node until it is used, which one of several does'({ store, openAnother }) {
    const other = await openAnother()
    await putLink(store.statements, link('alice', 'a'), 1)
    assert.deepEqual(await findLink(other.statements, 'a'), link('alice', 'a'))
    assert.equal(await findLink(store.statements, 'b'), undefined)
    const use = (node: typeof store) =>
      spendLink(node, { link: link('alice', 'a'), caller: PROGRAM }, async ({ confirm }) => void (await confirm()))
    const uses = await Promise.allSettled([use(store), use(other), use(other)])
    assert.deepEqual(uses.map(({ status }) => status).sort(), ['fulfilled', 'rejected', 'rejected'])
    assert.equal(await findLink(store.statements, 'a'), undefined)
  },

  async 'a new link replaces the earlier one of the user'({ store }) {
    await putLink(store.statements, link('alice', 'a'), 1)
    await putLink(store.statements, link('bob', 'b'), 1)
    await putLink(store.statements, link('alice', 'c'), 1)
    assert.equal(await findLink(store.statements, 'a'), undefined)
    assert.deepEqual(await findLink(store.statements, 'b'), link('bob', 'b'))
    assert.deepEqual(await findLink(store.statements, 'c'), link('alice', 'c'))
  },

  async 'a new link keeps those of other purposes, and so does a write of the user'({ store }) {
    const stored = await createIn(store, 'alice').then(() => store.findUser('alice'))
    assert.ok(stored)
    await putLink(store.statements, link('alice', 'a', 100, 'address'), 1)
    await putLink(store.statements, link('alice', 'b'), 1)
    await store.writeUser({ expected: stored.sequence, record: stored.record })
    assert.deepEqual(await findLink(store.statements, 'a'), link('alice', 'a', 100, 'address'))
    assert.equal(await findLink(store.statements, 'b'), undefined)
  },

  async 'a new link deletes those that have expired'({ store }) {
    await putLink(store.statements, link('alice', 'a', 100), 1)
    await putLink(store.statements, link('bob', 'b', 200), 100)
    assert.equal(await findLink(store.statements, 'a'), undefined)
  },

  async 'every write of a user ends its link, and no other'({ store }) {
    await createIn(store, 'alice')
    await putLink(store.statements, link('alice', 'a'), 1)
    await putLink(store.statements, link('bob', 'b'), 1)
    const stored = await store.findUser('alice')
    assert.ok(stored)
    const refused = await store.writeUser({ expected: 'absent', record: stored.record })
    assert.equal(refused.kind, 'conflict')
    assert.ok(await findLink(store.statements, 'a'), 'a refused write changes nothing')
    await store.writeUser({ expected: stored.sequence, record: stored.record })
    assert.equal(await findLink(store.statements, 'a'), undefined)
    assert.ok(await findLink(store.statements, 'b'))
  },

  async 'a deleted user takes its link along'({ store }) {
    await createIn(store, 'alice')
    await putLink(store.statements, link('alice', 'a'), 1)
    await deleteIn(store, 'alice')
    assert.equal(await findLink(store.statements, 'a'), undefined)
  },

  async 'a name that cannot be stored is refused'({ store }) {
    await assert.rejects(putLink(store.statements, link('a\0', 'a'), 1), isRefusal('bad_request'))
  },
}
