import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PROGRAM } from '../../../src/directory/caller.ts'
import { readTotp, renderCode } from '../../../src/directory/second-factor/totp.ts'
import { createTestClock, openTestNode } from '../../support/directory.ts'

const SECRETS = ['GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ', 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'] as const
const DAY_SECONDS = 86_400

test('a code used while the clock was ahead blocks neither right codes, nor a new factor, nor a new user', async (t) => {
  const clock = createTestClock()
  const { directory } = await openTestNode(t, { clock })
  const codeOf = (key: string): string =>
    renderCode(readTotp({ key, algorithm: 'sha', length: 6 }) ?? assert.fail(), Math.floor(clock.nowMs() / 30_000))
  const spend = async (key: string) => {
    const account = (await directory.findAccount('ada')) ?? assert.fail()
    return directory.spendCode(account, codeOf(key))
  }
  const create = () => directory.createUser({ name: 'ada', password: { password: 'analytical' } }, PROGRAM)
  const [first, second] = SECRETS
  await create()
  clock.advance(DAY_SECONDS)
  await directory.enableTotp('ada', PROGRAM, first, codeOf(first))
  clock.advance(60)
  assert.equal(await spend(first), true)
  clock.advance(-DAY_SECONDS)
  assert.equal(await spend(first), true, 'a right code')
  assert.equal(await spend(first), false, 'the same code again')
  await directory.removeTotp('ada', PROGRAM)
  await directory.enableTotp('ada', PROGRAM, second, codeOf(second))
  assert.equal(await spend(second), false, 'the code that enabled the factor')
  clock.advance(30)
  assert.equal(await spend(second), true, 'after a reset of the factor')
  await directory.removeUser('ada', PROGRAM, 'any')
  await create()
  await directory.enableTotp('ada', PROGRAM, second, codeOf(second))
  clock.advance(30)
  assert.equal(await spend(second), true, 'a new user of the name')
})
