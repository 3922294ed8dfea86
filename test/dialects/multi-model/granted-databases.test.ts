import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import fc from 'fast-check'
import { GrantedDatabases } from '../../../src/dialects/multi-model/granted-databases.ts'
import { createTestClock, isRefused, openTestNode } from '../../support/directory.ts'

async function open(t: TestContext, hasUpstream = false) {
  const node = await openTestNode(t)
  const clock = createTestClock()
  const databases = new GrantedDatabases({ directory: node.directory, hasUpstream: () => hasUpstream, clock })
  const { directory } = node
  return {
    node,
    clock,
    databases,
    directory,
    create: async (...names: string[]) => {
      for (const name of names) await directory.createUser({ name })
    },
  }
}

describe('databases known from grants alone', () => {
  it('the system database always exists', async (t) => {
    const { databases, node } = await open(t)
    node.countQuestions()
    assert.equal(await databases.exists('_system'), true)
    assert.equal(node.countQuestions(), 0)
    assert.deepEqual(await databases.list(), ['_system'])
  })
  it('a database exists while a user is granted it', async (t) => {
    const { databases, directory, create } = await open(t)
    await create('ann', 'bob')
    await directory.setGrant('ann', { database: 'shop' }, 'ro')
    assert.equal(await databases.exists('shop'), true)
    await directory.setGrant('bob', { database: 'shop' }, 'none')
    await directory.setGrant('ann', { database: 'shop' }, undefined)
    assert.equal(await databases.exists('shop'), true)
    await directory.removeUser('bob', 'any')
    assert.equal(await databases.exists('shop'), false)
  })
  it('a grant on a collection counts, a grant on * does not', async (t) => {
    const { databases, directory, create } = await open(t)
    await create('ann')
    await directory.setGrant('ann', { database: '*' }, 'rw')
    await directory.setGrant('ann', { database: 'shop', collection: 'c' }, 'ro')
    assert.deepEqual(await databases.list(), ['_system', 'shop'])
  })
  it('reads nothing while no user changes', async (t) => {
    const { databases, directory, create, node } = await open(t)
    await create('ann')
    await directory.setGrant('ann', { database: 'shop' }, 'ro')
    await databases.exists('shop')
    node.countQuestions()
    for (const name of ['shop', 'none', 'other', '__proto__']) await databases.exists(name)
    assert.equal(node.countQuestions(), 0)
  })
  it('a database exists as long as any of many users is granted it', async (t) => {
    const { databases, directory, create, clock } = await open(t)
    const names = Array.from({ length: 12 }, (_, index) => `user ${index}`)
    await create(...names)
    for (const name of names) await directory.setGrant(name, { database: 'shop' }, 'ro')
    assert.equal(await databases.exists('shop'), true)
    for (const name of names.slice(0, 11)) await directory.setGrant(name, { database: 'shop' }, undefined)
    clock.advance(60)
    assert.equal(await databases.exists('shop'), true)
    await directory.setGrant('user 11', { database: 'shop' }, undefined)
    clock.advance(60)
    assert.equal(await databases.exists('shop'), false)
  })
  it('reads all users after many changes', async (t) => {
    const { databases, directory, clock } = await open(t)
    await databases.list()
    const drafts = Array.from({ length: 1200 }, (_, index) => ({
      name: `user ${index}`,
      multiModel: { grants: new Map([[`db ${index % 3}`, { level: 'ro' as const, collections: new Map() }]]) },
    }))
    await directory.importUsers(drafts, 'keep')
    clock.advance(60)
    assert.deepEqual(await databases.list(), ['_system', 'db 0', 'db 1', 'db 2'])
  })
  it('with an upstream every name may exist', async (t) => {
    const { databases, node } = await open(t, true)
    node.countQuestions()
    assert.equal(await databases.exists('anything'), true)
    assert.deepEqual(await databases.list(), ['_system'])
    assert.equal(node.countQuestions(), 0)
  })
  it('fails while the store is unreachable, and recovers with it', async (t) => {
    const { databases, directory, create, node } = await open(t)
    await create('ann')
    await directory.setGrant('ann', { database: 'shop' }, 'ro')
    node.cut()
    await assert.rejects(async () => databases.exists('shop'), isRefused('store_unavailable'))
    node.mend()
    assert.equal(await databases.exists('shop'), true)
  })
  it('reads a user again that changes while it is read', async (t) => {
    const { node, directory, create, clock } = await open(t)
    await create('ann')
    let isChanged = false
    const findUser: typeof directory.findUser = async (name) => {
      const user = await directory.findUser(name)
      if (!isChanged) await directory.setGrant(name, { database: 'shop' }, 'ro')
      isChanged = true
      return user
    }
    const slow = { ...node.directory, findUser, listUsers: directory.listUsers, onRevoked: directory.onRevoked }
    const databases = new GrantedDatabases({ directory: slow, hasUpstream: () => false, clock })
    await databases.list()
    await directory.setGrant('ann', { database: 'other' }, 'ro')
    await databases.list()
    assert.equal(await databases.exists('shop'), true)
  })
  it('is right after every change', async (t) => {
    const { databases, directory, create, clock } = await open(t)
    const users = ['ann', 'bob', 'eve']
    const names = ['a', 'b']
    await create(...users)
    const step = fc.tuple(fc.constantFrom(...users), fc.constantFrom(...names), fc.boolean())
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        for (const [user, name, isGranted] of steps) {
          await directory.setGrant(user, { database: name }, isGranted ? 'ro' : undefined)
          clock.advance(1)
          const all = await Promise.all(users.map((other) => directory.findUser(other)))
          const isGrantedToOne = all.some((other) => other?.multiModel.grants.has(name))
          assert.equal(await databases.exists(name), isGrantedToOne)
        }
      }),
      { numRuns: 20 },
    )
  })
})
