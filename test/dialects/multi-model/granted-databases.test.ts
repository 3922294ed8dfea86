import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import fc from 'fast-check'
import { createGrantedDatabases } from '../../../src/dialects/multi-model/granted-databases.ts'
import { PROGRAM } from '../../../src/directory/caller.ts'
import { isRefused, openTestNode } from '../../support/directory.ts'

async function open(t: TestContext, hasUpstream = false) {
  const node = await openTestNode(t)
  const databases = createGrantedDatabases(node.directory, () => hasUpstream)
  const { directory } = node
  return {
    node,
    databases,
    directory,
    create: async (...names: string[]) => {
      for (const name of names) await directory.createUser({ name }, PROGRAM)
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
    await directory.setGrant('ann', PROGRAM, { database: 'shop' }, 'ro')
    assert.equal(await databases.exists('shop'), true)
    await directory.setGrant('bob', PROGRAM, { database: 'shop' }, 'none')
    await directory.setGrant('ann', PROGRAM, { database: 'shop' }, undefined)
    assert.equal(await databases.exists('shop'), true)
    await directory.removeUser('bob', PROGRAM, 'any')
    assert.equal(await databases.exists('shop'), false)
  })
  it('a grant on a collection counts, a grant on * does not', async (t) => {
    const { databases, directory, create } = await open(t)
    await create('ann')
    await directory.setGrant('ann', PROGRAM, { database: '*' }, 'rw')
    await directory.setGrant('ann', PROGRAM, { database: 'shop', collection: 'c' }, 'ro')
    assert.deepEqual(await databases.list(), ['_system', 'shop'])
    assert.equal(await databases.exists('shop'), true)
    assert.equal(await databases.exists('*'), false)
  })
  it('reads nothing while no user changes', async (t) => {
    const { databases, directory, create, node } = await open(t)
    await create('ann')
    await directory.setGrant('ann', PROGRAM, { database: 'shop' }, 'ro')
    const ask = () =>
      Promise.all([databases.list(), ...['shop', 'none', '__proto__'].map((name) => databases.exists(name))])
    const expected = [['_system', 'shop'], true, false, false]
    assert.deepEqual(await ask(), expected)
    node.countQuestions()
    assert.deepEqual(await ask(), expected)
    assert.equal(node.countQuestions(), 0)
  })
  it('asks as much about a database as about a name that does not exist', async (t) => {
    const { databases, directory, create, node } = await open(t)
    await create('ann')
    await directory.setGrant('ann', PROGRAM, { database: 'shop' }, 'ro')
    await directory.setGrant('ann', PROGRAM, { database: 'store' }, 'ro')
    for (const [name, isDatabase] of [
      ['shop', true],
      ['s', false],
      ['none', false],
    ] as const) {
      node.countQuestions()
      assert.equal(await databases.exists(name), isDatabase, name)
      assert.equal(node.countQuestions(), 1, name)
    }
  })
  it('a database exists as long as any of many users is granted it', async (t) => {
    const { databases, directory, create } = await open(t)
    const names = Array.from({ length: 12 }, (_, index) => `user ${index}`)
    await create(...names)
    for (const name of names) await directory.setGrant(name, PROGRAM, { database: 'shop' }, 'ro')
    assert.equal(await databases.exists('shop'), true)
    for (const name of names.slice(0, 11)) await directory.setGrant(name, PROGRAM, { database: 'shop' }, undefined)
    assert.equal(await databases.exists('shop'), true)
    await directory.setGrant('user 11', PROGRAM, { database: 'shop' }, undefined)
    assert.equal(await databases.exists('shop'), false)
  })
  it('lists more databases than one page has', async (t) => {
    const { databases, directory } = await open(t)
    const names = Array.from({ length: 1200 }, (_, index) => `db ${1000 + index}`)
    const drafts = names.map((name) => ({
      name,
      multiModel: { grants: new Map([[name, { level: 'ro' as const, collections: new Map() }]]) },
    }))
    await directory.importUsers(drafts, PROGRAM, 'keep')
    assert.deepEqual(await databases.list(), ['_system', ...names])
    assert.equal(await databases.exists('db 2199'), true)
    assert.equal(await databases.exists('db 219'), false)
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
    await directory.setGrant('ann', PROGRAM, { database: 'shop' }, 'ro')
    node.cut()
    await assert.rejects(async () => databases.exists('shop'), isRefused('store_unavailable'))
    await assert.rejects(databases.list(), isRefused('store_unavailable'))
    node.mend()
    assert.deepEqual(await databases.list(), ['_system', 'shop'])
    assert.equal(await databases.exists('shop'), true)
  })
  it('reads again after a change that arrives while it reads', async (t) => {
    const { directory, create } = await open(t)
    await create('ann')
    const thenGrant = async <T>(reading: Promise<T>, database: string): Promise<T> => {
      const found = await reading
      await directory.setGrant('ann', PROGRAM, { database }, 'ro')
      return found
    }
    const slow = {
      ...directory,
      isGranted: (name: string) => thenGrant(directory.isGranted(name), 'shop'),
      listGranted: () => thenGrant(directory.listGranted(), 'store'),
    }
    const databases = createGrantedDatabases(slow, () => false)
    assert.equal(await databases.exists('shop'), false)
    assert.equal(await databases.exists('shop'), true)
    assert.deepEqual(await databases.list(), ['_system', 'shop'])
    assert.deepEqual(await databases.list(), ['_system', 'shop', 'store'])
  })
  it('is right after every change', async (t) => {
    const { databases, directory, create } = await open(t)
    const users = ['ann', 'bob', 'eve']
    const names = ['a', 'b']
    await create(...users)
    const step = fc.tuple(fc.constantFrom(...users), fc.constantFrom(...names), fc.boolean())
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        for (const [user, name, isGranted] of steps) {
          await directory.setGrant(user, PROGRAM, { database: name }, isGranted ? 'ro' : undefined)
          const all = await Promise.all(users.map((other) => directory.findUser(other)))
          const isGrantedToOne = all.some((other) => other?.multiModel.grants.has(name))
          assert.equal(await databases.exists(name), isGrantedToOne)
        }
      }),
      { numRuns: 20 },
    )
  })
})
