import assert from 'node:assert/strict'
import { describe, it, test } from 'node:test'
import { COOKIE_SESSION } from '../../../src/auth/session/account-session.ts'
import { type Caller, PROGRAM } from '../../../src/directory/caller.ts'
import type { SessionOpening } from '../../../src/directory/sessions/session.ts'
import { isRefused, openTestNode } from '../../support/directory.ts'
import { createSharedScope } from '../../support/scope.ts'

const { directory } = await openTestNode(createSharedScope())
const TOTP = { key: 'JBSWY3DPEHPK3PXP', algorithm: 'sha', length: 6 }

const setTotp = (name: string, totp: typeof TOTP | undefined, caller = PROGRAM) =>
  directory.changeUser(name, caller, (user) => ({
    ...user,
    document: { ...user.document, members: totp ? [['totp', totp]] : [] },
  }))

async function addUser(name: string): Promise<string> {
  await directory.createUser({ name, password: { password: 'analytical' } }, PROGRAM)
  await setTotp(name, TOTP)
  return name
}

const toCookie = (id: string, name: string) => ({ kind: COOKIE_SESSION, handler: 'cookie', session: { id, name } })

/** A request of the user with a session that was opened in this way, now or by an earlier version. */
async function callerOf(name: string, opening: SessionOpening): Promise<Caller> {
  const identity = (await directory.findAccount(name)) ?? assert.fail('cannot sign in')
  const { id } = directory.createSession(identity, opening)
  return { confirm: async () => ({ identity, credential: toCookie(id, name) }) }
}

/** Sessions of versions that did not record the second factor have this form. */
const UNPROVED: SessionOpening = { hasPassword: true, hasFactor: false }
const PROVED: SessionOpening = { hasPassword: true, hasFactor: true }

const CHANGES: Readonly<Record<string, (name: string, caller: Caller) => Promise<unknown>>> = {
  'removes it': (name, caller) => directory.removeTotp(name, caller),
  'writes the user without it': (name, caller) => setTotp(name, undefined, caller),
  'writes another': (name, caller) => setTotp(name, { ...TOTP, key: 'GEZDGNBVGY3TQOJQ' }, caller),
  'replaces its recovery codes': (name, caller) => directory.replaceRecoveryCodes(name, caller),
  'removes the user': (name, caller) => directory.removeUser(name, caller, 'any'),
}

describe('the second factor of the own account', () => {
  for (const [what, change] of Object.entries(CHANGES))
    it(`a session that has not proved it never ${what}; one that has proved it does`, async () => {
      const name = await addUser(what.replaceAll(' ', '-'))
      const before = await directory.findUser(name)
      await assert.rejects(change(name, await callerOf(name, UNPROVED)), isRefused('second_factor_required'))
      assert.deepEqual(await directory.findUser(name), before)
      await change(name, await callerOf(name, PROVED))
    })

  it('a session that has not proved it does not replace it with a confirmed one either', async () => {
    const name = await addUser('confirms')
    const enable = async (opening: SessionOpening) =>
      directory.enableTotp(name, await callerOf(name, opening), 'A'.repeat(32), '000000')
    await assert.rejects(enable(UNPROVED), isRefused('second_factor_required'))
    await assert.rejects(enable(PROVED), isRefused('bad_request'), 'the code is wrong')
  })

  it('can be changed outside a request, and by another user who may', async () => {
    const [name, other] = [await addUser('ada'), await addUser('grace')]
    await setTotp(name, undefined, await callerOf(other, UNPROVED))
    await setTotp(other, undefined)
  })

  it('other changes need no proof', async () => {
    const name = await addUser('roles')
    await directory.setPassword(name, await callerOf(name, UNPROVED), { password: 'another' })
  })
})

test('a session proves only the second factor that the account had when it was opened', async () => {
  const name = await addUser('later')
  const before = (await directory.findAccount(name)) ?? assert.fail()
  const { id } = directory.createSession(before, PROVED)
  const who = { identity: before, credential: toCookie(id, name) }
  assert.ok(directory.hasProvedFactor(who, before))
  await setTotp(name, { ...TOTP, key: 'GEZDGNBVGY3TQOJQ' })
  const after = (await directory.findAccount(name)) ?? assert.fail()
  assert.ok(!directory.hasProvedFactor({ ...who, identity: after }, after))
  assert.ok(!directory.hasProvedFactor(who, after))
})

test('the same second factor, with its members in another order, ends nothing', async () => {
  const name = await addUser('same')
  const { sessionEpoch } = (await directory.findAccount(name)) ?? assert.fail()
  await setTotp(name, { length: 6, algorithm: 'sha', key: TOTP.key })
  assert.deepEqual((await directory.findAccount(name))?.sessionEpoch, sessionEpoch)
})
