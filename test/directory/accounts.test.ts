import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PROGRAM } from '../../src/directory/caller.ts'
import { createTestClock, isRefused, openTestNode, setRoles } from '../support/directory.ts'

describe('findAccount', () => {
  it('an active user, with its roles and grants', async (t) => {
    const { directory } = await openTestNode(t)
    await directory.createUser({ name: 'ada', password: { password: 'analytical' }, roles: ['maths'] }, PROGRAM)
    const { multiModel } = await directory.setGrant('ada', PROGRAM, { database: 'shop' }, 'rw')
    const account = await directory.findAccount('ada')
    assert.partialDeepStrictEqual(account, { name: 'ada', roles: ['maths'], isAdmin: false })
    assert.deepEqual(account?.grants, multiModel.grants)
  })

  it('does not find an unknown, inactive or deleted user', async (t) => {
    const { directory } = await openTestNode(t)
    await directory.createUser({ name: 'ada' }, PROGRAM)
    await directory.createUser({ name: 'bob' }, PROGRAM)
    await directory.findAccount('ada')
    await directory.findAccount('bob')
    await directory.setActive('ada', PROGRAM, false)
    await directory.removeUser('bob', PROGRAM, 'any')
    for (const name of ['ada', 'bob', 'eve', '', '\u0000', '__proto__']) {
      assert.equal(await directory.findAccount(name), undefined, name)
    }
  })

  it('an administrator, with the roles of an active user of that name', async (t) => {
    const { directory } = await openTestNode(t)
    const user = await directory.createUser(
      { name: 'ada', password: { password: 'analytical' }, roles: ['maths'] },
      PROGRAM,
    )
    await directory.setAdministrator('ada', PROGRAM, { password: 'engine' })
    const account = await directory.findAccount('ada')
    assert.deepEqual([account?.roles, account?.isAdmin], [['_admin', 'maths'], true])
    assert.notDeepEqual(account?.password, user.password)
    await directory.setActive('ada', PROGRAM, false)
    assert.deepEqual((await directory.findAccount('ada'))?.roles, ['_admin'])
  })

  it('a stored _admin role does not make a user an administrator', async (t) => {
    const { directory, store } = await openTestNode(t)
    const user = await directory.createUser({ name: 'ada' }, PROGRAM)
    const found = await store.findUser('ada')
    const record = { ...user, document: { ...user.document, roles: ['_admin', 'maths'] } }
    await store.writeUser({ expected: found?.sequence ?? 'absent', record })
    const account = await directory.findAccount('ada')
    assert.deepEqual([account?.roles, account?.isAdmin], [['maths'], false])
  })

  it('the version changes only with the password', async (t) => {
    const { directory } = await openTestNode(t)
    await directory.createUser({ name: 'ada', password: { password: 'analytical' } }, PROGRAM)
    const versions = [(await directory.findAccount('ada'))?.version]
    await setRoles(directory, 'ada', ['maths'])
    versions.push((await directory.findAccount('ada'))?.version)
    await directory.setPassword('ada', PROGRAM, { password: 'engine' })
    versions.push((await directory.findAccount('ada'))?.version)
    assert.equal(versions[0], versions[1])
    assert.notEqual(versions[1], versions[2])
  })
})

describe('memory', () => {
  it('a cached user is found without the store', async (t) => {
    const { directory, countQuestions } = await openTestNode(t)
    await directory.createUser({ name: 'ada' }, PROGRAM)
    await directory.catchUp()
    await directory.findAccount('ada')
    countQuestions()
    for (let times = 0; times < 10; times += 1) await directory.findAccount('ada')
    assert.equal(countQuestions(), 0)
  })

  it('an administrator is found without the store, with or without a user of that name', async (t) => {
    const { directory, countQuestions } = await openTestNode(t)
    await directory.setAdministrator('root', PROGRAM, { password: 'secret' })
    await directory.findAccount('root')
    countQuestions()
    await directory.findAccount('root')
    assert.equal(countQuestions(), 0)
    await directory.importUsers([{ name: 'ada' }], PROGRAM, 'keep')
    await directory.setAdministrator('ada', PROGRAM, { password: 'secret' })
    await directory.changeUser('ada', PROGRAM, (user) => ({
      ...user,
      document: { ...user.document, roles: ['maths'] },
    }))
    assert.deepEqual((await directory.findAccount('ada'))?.roles, ['_admin', 'maths'])
  })

  it('unknown names do not evict known users from the cache', async (t) => {
    const { directory, countQuestions } = await openTestNode(t, { settings: { chttpd_auth: { auth_cache_size: 2 } } })
    await directory.createUser({ name: 'ada' }, PROGRAM)
    await directory.catchUp()
    await directory.findAccount('ada')
    for (let number = 0; number < 50; number += 1) await directory.findAccount(`guess ${number}`)
    countQuestions()
    await directory.findAccount('ada')
    assert.equal(countQuestions(), 0)
  })

  it('concurrent lookups of one name ask the store once', async (t) => {
    const { directory, countQuestions } = await openTestNode(t)
    await directory.createUser({ name: 'ada' }, PROGRAM)
    countQuestions()
    await Promise.all(Array.from({ length: 20 }, () => directory.findAccount('ada')))
    assert.equal(countQuestions(), 1)
  })

  it('everything works without a cache', async (t) => {
    const { directory } = await openTestNode(t, { settings: { chttpd_auth: { auth_cache_size: 0 } } })
    await directory.createUser({ name: 'ada' }, PROGRAM)
    await setRoles(directory, 'ada', ['maths'])
    assert.deepEqual((await directory.findAccount('ada'))?.roles, ['maths'])
  })
})

describe('without the store', () => {
  it('uses cached data until it is too old, and again when the store is back', async (t) => {
    const clock = createTestClock()
    const { directory, cut, mend } = await openTestNode(t, { clock })
    await directory.createUser({ name: 'ada' }, PROGRAM)
    await directory.setAdministrator('root', PROGRAM, { password: 'secret' })
    await directory.catchUp()
    await directory.findAccount('ada')
    cut()
    clock.advance(60)
    assert.equal((await directory.findAccount('ada'))?.name, 'ada')
    assert.equal((await directory.findAccount('root'))?.name, 'root')
    clock.advance(1)
    for (const name of ['ada', 'root', 'eve']) {
      await assert.rejects(async () => directory.findAccount(name), isRefused('store_unavailable'), name)
    }
    mend()
    assert.equal((await directory.findAccount('ada'))?.name, 'ada')
    assert.equal(directory.stalenessMs(), 0)
  })

  it('does not wait for a store that hangs once cached data is too old', async (t) => {
    const clock = createTestClock()
    const { directory, hang, mend, countQuestions } = await openTestNode(t, { clock })
    await directory.createUser({ name: 'ada' }, PROGRAM)
    hang()
    clock.advance(61)
    countQuestions()
    for (let turn = 0; turn < 30; turn += 1) {
      const name = ['ada', 'root', 'eve'][turn % 3] ?? ''
      await assert.rejects(async () => directory.findAccount(name), isRefused('store_unavailable'), name)
    }
    assert.equal(await directory.isFresh(), false)
    assert.equal(countQuestions(), 1, 'one wait for all')
    mend()
    await directory.catchUp()
    assert.equal(await directory.isFresh(), true)
    assert.equal((await directory.findAccount('ada'))?.name, 'ada')
  })

  for (const outage of ['cut', 'hang'] as const)
    it(`uses nothing that it remembers after a change that it could not read (${outage})`, async (t) => {
      const { directory, mend, ...node } = await openTestNode(t)
      await directory.createUser({ name: 'ada' }, PROGRAM)
      await directory.setAdministrator('root', PROGRAM, { password: 'secret' })
      await directory.follow()
      const session = directory.createSession((await directory.findAccount('ada')) ?? assert.fail('no account'))
      const revoked: string[] = []
      directory.onRevoked(({ kind }) => void revoked.push(kind))
      node[outage]()
      await directory.follow()
      assert.deepEqual(revoked, ['everything'])
      assert.equal(directory.peekAccount('ada'), undefined)
      for (const name of ['ada', 'root'])
        await assert.rejects(async () => directory.findAccount(name), isRefused('store_unavailable'), name)
      await assert.rejects(async () => directory.isSessionLive(session), isRefused('store_unavailable'))
      mend()
      await directory.catchUp()
      assert.equal(await directory.isSessionLive(session), true)
      assert.equal(directory.peekAccount('ada')?.name, 'ada')
    })

  it('an administrator that is not cached can sign in', async (t) => {
    const { directory, cut } = await openTestNode(t)
    await directory.setAdministrator('root', PROGRAM, { password: 'secret' })
    cut()
    assert.deepEqual((await directory.findAccount('root'))?.roles, ['_admin'])
  })

  it('refuses users that are not cached, and every change, at once', async (t) => {
    const { directory, cut } = await openTestNode(t)
    await directory.createUser({ name: 'ada' }, PROGRAM)
    cut()
    const operations: readonly (() => Promise<unknown>)[] = [
      async () => directory.findAccount('ada'),
      () => directory.findUser('ada'),
      () => directory.listUsers({ limit: 1 }),
      () => directory.countUsers(),
      () => directory.createUser({ name: 'bob' }, PROGRAM),
      () => directory.setActive('ada', PROGRAM, false),
      () => directory.removeUser('ada', PROGRAM, 'any'),
      () => directory.importUsers([{ name: 'bob' }], PROGRAM, 'keep'),
      () => directory.setAdministrator('root', PROGRAM, { password: 'secret' }),
      () => directory.endSession({ id: 'x', name: 'ada', expiresAt: 1 }),
      () => directory.catchUp(),
    ]
    for (const operation of operations) await assert.rejects(operation, isRefused('store_unavailable'))
  })
})
