import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { PROGRAM } from '../../../src/directory/caller.ts'
import { readRevision } from '../../../src/directory/users/revisions.ts'
import type { HashParameters } from '../../../src/passwords/schemes/scheme.ts'
import type { StoredPassword } from '../../../src/passwords/schemes.ts'
import { type ChangedSettings, createTestClock, openTestNode } from '../../support/directory.ts'

// password `apple`
const SALT = '1112283cf988a34f124200a050d308a1'
const SIMPLE: StoredPassword = { scheme: 'simple', salt: SALT, hash: 'd4b5d8403f6c1d1c7975fb19cbbacf260cebecdf' }
const TARGET: HashParameters = { scheme: 'pbkdf2', prf: 'sha', iterations: 10 }
const UPGRADED: StoredPassword = {
  ...TARGET,
  scheme: 'pbkdf2',
  salt: SALT,
  hash: 'e579375db0e0c6a6fc79cd9e36a36859f71575c3',
}

async function openWithOldHash(t: TestContext, settings: ChangedSettings = {}) {
  const clock = createTestClock()
  const node = await openTestNode(t, { clock, settings: { parameters: TARGET, ...settings } })
  await node.directory.createUser({ name: 'ada', password: { stored: SIMPLE } }, PROGRAM)
  const account = (await node.directory.findAccount('ada')) ?? assert.fail('ada cannot sign in')
  const read = async () => {
    // waits for running upgrades
    await node.directory.close()
    const record = (await node.store.findUser('ada'))?.record
    return record?.kind === 'user' ? record : assert.fail('there is no ada')
  }
  return { ...node, clock, account, read }
}

describe('a password seen at sign-in', () => {
  it('is hashed as configured, with its salt, and the revision changes', async (t) => {
    const { directory, account, read } = await openWithOldHash(t)
    directory.upgradeHash(account, 'apple')
    const user = await read()
    assert.deepEqual(user.password, UPGRADED)
    assert.equal(readRevision(user.document.revision)?.number, 2)
    assert.deepEqual(user.sessionEpoch, account.sessionEpoch)
  })

  it('of many sign-ins at once is hashed once', async (t) => {
    const { directory, account, read } = await openWithOldHash(t)
    for (let times = 0; times < 10; times += 1) directory.upgradeHash(account, 'apple')
    assert.equal(readRevision((await read()).document.revision)?.number, 2)
  })

  it('is not hashed again if the option is off', async (t) => {
    const { directory, account, read } = await openWithOldHash(t, { chttpd_auth: { upgrade_hash_on_auth: false } })
    directory.upgradeHash(account, 'apple')
    assert.deepEqual((await read()).password, SIMPLE)
  })

  it('never overwrites one that was changed meanwhile', async (t) => {
    const { directory, account, read } = await openWithOldHash(t)
    const { password } = await directory.setPassword('ada', PROGRAM, { password: 'pear' })
    directory.upgradeHash(account, 'apple')
    assert.deepEqual((await read()).password, password)
  })

  it('that fails does not affect the sign-in and is retried some seconds later', async (t) => {
    const { directory, account, read, cut, mend, clock, countQuestions } = await openWithOldHash(t)
    cut()
    countQuestions()
    directory.upgradeHash(account, 'apple')
    while (countQuestions() === 0) await new Promise(setImmediate)
    mend()
    clock.advance(4)
    directory.upgradeHash(account, 'apple')
    await new Promise(setImmediate)
    assert.equal(countQuestions(), 0)
    clock.advance(1)
    directory.upgradeHash(account, 'apple')
    assert.deepEqual((await read()).password, UPGRADED)
  })

  it('of an administrator is hashed before the session is opened, and the session stays valid', async (t) => {
    const { directory } = await openWithOldHash(t)
    const text = `-hashed-${'d4b5d8403f6c1d1c7975fb19cbbacf260cebecdf'},${SALT}`
    await directory.setAdministrator('root', PROGRAM, { stored: text })
    const account = (await directory.findAccount('root')) ?? assert.fail('root cannot sign in')
    const upgraded = await directory.upgradeHash(account, 'apple')
    const stored = `-pbkdf2-e579375db0e0c6a6fc79cd9e36a36859f71575c3,${SALT},10`
    assert.deepEqual(directory.listAdministrators(), [{ name: 'root', text: stored }])
    assert.equal(await directory.isSessionLive(directory.createSession(upgraded)), true)
  })

  it('of an administrator signing in many times at once is hashed once, for all of them', async (t) => {
    const { directory } = await openWithOldHash(t)
    await directory.setAdministrator('root', PROGRAM, {
      stored: `-hashed-d4b5d8403f6c1d1c7975fb19cbbacf260cebecdf,${SALT}`,
    })
    const account = (await directory.findAccount('root')) ?? assert.fail('root cannot sign in')
    const accounts = await Promise.all(Array.from({ length: 10 }, () => directory.upgradeHash(account, 'apple')))
    for (const one of accounts) assert.equal(await directory.isSessionLive(directory.createSession(one)), true)
  })

  it('of an administrator that was just set stays for a minute, unless a session is opened', async (t) => {
    const { directory, clock } = await openWithOldHash(t)
    const text = `-hashed-d4b5d8403f6c1d1c7975fb19cbbacf260cebecdf,${SALT}`
    await directory.setAdministrator('root', PROGRAM, { stored: text })
    const account = (await directory.findAccount('root')) ?? assert.fail('root cannot sign in')
    await directory.upgradeHash(account, 'apple', { opensSession: false })
    assert.deepEqual(directory.listAdministrators(), [{ name: 'root', text }])
    clock.advance(60)
    await directory.upgradeHash(account, 'apple', { opensSession: false })
    assert.notDeepEqual(directory.listAdministrators(), [{ name: 'root', text }])
  })
})
