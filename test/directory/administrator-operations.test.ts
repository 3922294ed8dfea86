import assert from 'node:assert/strict'
import { beforeEach, describe, it, type TestContext } from 'node:test'
import { PROGRAM } from '../../src/directory/caller.ts'
import type { Directory } from '../../src/directory/directory.ts'
import { createHasher } from '../../src/passwords/hasher.ts'
import { isRefused, openTestNode } from '../support/directory.ts'

let directory: Directory
beforeEach(async (t) => {
  ;({ directory } = await openTestNode(t as TestContext))
})

const names = () => directory.listAdministrators().map(({ name }) => name)

describe('an administrator', () => {
  it('is created with a password and can sign in with it', async () => {
    const text = await directory.setAdministrator('root', PROGRAM, { password: 'secret' })
    assert.match(text, /^-pbkdf2-[0-9a-f]{64},[0-9a-f]{32},2$/)
    assert.deepEqual(directory.listAdministrators(), [{ name: 'root', text }])
    assert.equal(directory.isAdministrator('root'), true)
    const account = await directory.findAccount('root')
    const hasher = createHasher({ queue: () => 10 })
    const decoy = { unit: 'sha256', amount: 1 }
    assert.equal(await hasher.verify(account?.password, 'secret', { decoy }), true)
    assert.equal(await hasher.verify(account?.password, 'wrong', { decoy }), false)
  })

  it('is created with a stored form, which is kept unchanged', async () => {
    const text = `-pbkdf2:sha256-${'a'.repeat(64)},salt,10`
    assert.equal(await directory.setAdministrator('root', PROGRAM, { stored: text }), text)
    assert.deepEqual(directory.listAdministrators(), [{ name: 'root', text }])
  })

  const refused: readonly (readonly [string, string, { stored: string } | { password: string }])[] = [
    ['clear text as a stored form', 'root', { stored: 'secret' }],
    ['a malformed stored form', 'root', { stored: '-pbkdf2-abc,def' }],
    ['an invalid name', 'a:b', { password: 'secret' }],
    ['no name', '', { password: 'secret' }],
  ]
  for (const [what, name, password] of refused) {
    it(`is not created with ${what}`, async () => {
      await assert.rejects(directory.setAdministrator(name, PROGRAM, password), isRefused('bad_request'))
      assert.deepEqual(names(), [])
    })
  }

  it('is deleted, and the stored form is returned', async () => {
    await directory.setAdministrator('root', PROGRAM, { password: 'secret' })
    const text = await directory.setAdministrator('ada', PROGRAM, { password: 'analytical' })
    assert.equal(await directory.removeAdministrator('ada', PROGRAM), text)
    assert.deepEqual(names(), ['root'])
    assert.equal(await directory.findAccount('ada'), undefined)
    await assert.rejects(directory.removeAdministrator('ada', PROGRAM), isRefused('not_found'))
  })

  it('the last one cannot be deleted', async () => {
    await directory.setAdministrator('root', PROGRAM, { password: 'secret' })
    await assert.rejects(directory.removeAdministrator('root', PROGRAM), isRefused('forbidden'))
    assert.deepEqual(names(), ['root'])
  })

  it('one stays when all are deleted at once', async () => {
    for (const name of ['a', 'b', 'c', 'd']) await directory.setAdministrator(name, PROGRAM, { password: 'secret' })
    const outcomes = await Promise.allSettled(
      ['a', 'b', 'c', 'd'].map((name) => directory.removeAdministrator(name, PROGRAM)),
    )
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 3)
    assert.equal(names().length, 1)
  })
})
