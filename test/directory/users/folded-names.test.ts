/** `auth.names = folded`: names that differ only in case or compatibility forms cannot both be created. */
import assert from 'node:assert/strict'
import { describe, it, test } from 'node:test'
import { Refusal } from '../../../src/base/errors.ts'
import { PROGRAM } from '../../../src/directory/caller.ts'
import { foldName } from '../../../src/directory/users/names.ts'
import { openTestNode } from '../../support/directory.ts'

describe('the fold of a name', () => {
  const SAME: readonly (readonly [string, string, string])[] = [
    ['case', 'Ada', 'aDA'],
    ['sharp s and its capital', 'Straße', 'STRAẞE'],
    ['sharp s and two letters', 'straße', 'STRASSE'],
    ['capital i with a dot', 'İda', 'i\u0307da'],
    ['final and other sigma', 'ΟΔΟΣ', 'οδοσ'],
    ['final sigma', 'οδος', 'οδοσ'],
    ['full width', 'ａｄａ', 'ADA'],
    ['a ligature', 'ﬁx', 'FIX'],
    ['the sign of Kelvin', '\u212aim', 'kim'],
    ['composed and decomposed', 'Jos\u00e9', 'jose\u0301'],
  ]
  for (const [name, a, b] of SAME) it(`is the same: ${name}`, () => assert.equal(foldName(a), foldName(b)))
  it('is its own fold', () => {
    for (const [, a, b] of SAME) for (const name of [a, b]) assert.equal(foldName(foldName(name)), foldName(name))
  })
  it('differs for look-alikes of other scripts', () => assert.notEqual(foldName('ada'), foldName('аdа')))
})

const isTaken = (error: unknown) => error instanceof Refusal && error.code === 'conflict'
const userOf = (name: string) => ({ name, password: { password: 'pw' } })

for (const foldsNames of [true, false])
  test(`with ${foldsNames ? 'folded' : 'exact'} names, another case is ${foldsNames ? 'refused' : 'another user'}`, async (t) => {
    const { directory } = await openTestNode(t, { settings: { auth: { names: foldsNames ? 'folded' : 'exact' } } })
    await directory.createUser(userOf('Ada'), PROGRAM)
    if (!foldsNames) return void (await directory.createUser(userOf('ada'), PROGRAM))
    for (const name of ['ada', 'ADA']) await assert.rejects(directory.createUser(userOf(name), PROGRAM), isTaken)
    await assert.rejects(directory.setAdministrator('ada', PROGRAM, { password: 'secret' }), isTaken)
    const drafts = [userOf('aDa'), userOf('Bob'), userOf('BOB')]
    const outcomes = await directory.importUsers(drafts, PROGRAM, { onTaken: 'keep' } as never)
    assert.deepEqual(
      outcomes.map(({ kind }: { readonly kind: string }) => kind),
      ['refused', 'created', 'refused'],
    )
    // sign-in is exact, and the name itself can still be changed
    assert.equal(await directory.findAccount('ada'), undefined)
    await directory.setPassword('Ada', PROGRAM, { password: 'other' })
    await directory.removeUser('Ada', PROGRAM, 'any')
    await directory.createUser(userOf('ADA'), PROGRAM)
  })

test('one of two names created at the same time is refused', async (t) => {
  const { directory } = await openTestNode(t, { settings: { auth: { names: 'folded' } } })
  const outcomes = await Promise.allSettled(
    ['eve', 'Eve', 'EVE'].map((name) => directory.createUser(userOf(name), PROGRAM)),
  )
  assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
})
