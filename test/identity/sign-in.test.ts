import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { SYSTEM_CLOCK } from '../../src/base/clock.ts'
import type { Account } from '../../src/identity/account.ts'
import type { Directory } from '../../src/identity/directory.ts'
import { createLockout } from '../../src/identity/lockout.ts'
import { createHasher, type Hasher } from '../../src/identity/password/hasher.ts'
import type { StoredPassword } from '../../src/identity/password/password.ts'
import { createPasswordMemory } from '../../src/identity/password/password-memory.ts'
import { createSignIn, type SignInNeeds } from '../../src/identity/sign-in.ts'
import { createTotpCheck } from '../../src/identity/totp.ts'
import { isRefused, openTestNode } from '../support/directory.ts'

const hasher = createHasher({ queue: () => 1000 })

interface Opened {
  readonly directory: Directory
  readonly seen: string[]
  signIn(name: string, password: string): Promise<Account | undefined>
}

async function open(t: TestContext, changed: Partial<SignInNeeds> = {}): Promise<Opened> {
  const { directory, store } = await openTestNode(t)
  await directory.createUser({ name: 'ada', password: { password: 'analytical' } })
  await directory.setAdministrator('root', { password: 'secret' })
  const seen: string[] = []
  const signIn = createSignIn({
    findAccount: directory.findAccount,
    onPassword: (account, password) => seen.push(`${account.name} ${password}`),
    hasher,
    memory: createPasswordMemory(() => 100),
    lockout: createLockout({
      mode: () => 'enforce',
      threshold: () => 3,
      maxObjects: () => 100,
      maxLifetimeMs: () => 60_000,
      clock: SYSTEM_CLOCK,
    }),
    codes: createTotpCheck(store, SYSTEM_CLOCK),
    decoy: () => ({ scheme: 'pbkdf2', prf: 'sha256', iterations: 2 }),
    limits: () => ({ min: 1, max: 1_000_000_000 }),
    ...changed,
  })
  return { directory, seen, signIn: async (name, password) => signIn({ name, password, peer: '192.0.2.1' }) }
}

const rows: readonly (readonly [string, string, string, boolean])[] = [
  ['a user with the right password', 'ada', 'analytical', true],
  ['a user with a wrong one', 'ada', 'engine', false],
  ['a user with an empty one', 'ada', '', false],
  ['an administrator with the right password', 'root', 'secret', true],
  ['an administrator with a wrong one', 'root', 'analytical', false],
  ['somebody nobody knows', 'eve', 'analytical', false],
  ['a name every object has', 'constructor', 'analytical', false],
]

describe('sign-in', () => {
  for (const [who, name, password, isRight] of rows) {
    it(`${isRight ? 'lets in' : 'refuses'} ${who}`, async (t) => {
      const { signIn, seen } = await open(t)
      for (let times = 0; times < 2; times += 1) {
        assert.equal((await signIn(name, password))?.name, isRight ? name : undefined)
      }
      assert.equal(seen.length, isRight ? 2 : 0)
    })
  }

  it('refuses who is inactive, and looks the same as for a wrong password', async (t) => {
    const asked: (StoredPassword | undefined)[] = []
    const counting: Hasher = {
      ...hasher,
      verify: (stored, ...rest) => {
        asked.push(stored)
        return hasher.verify(stored, ...rest)
      },
    }
    const { directory, signIn } = await open(t, { hasher: counting })
    await signIn('ada', 'analytical')
    await directory.setActive('ada', false)
    assert.equal(await signIn('ada', 'analytical'), undefined)
    assert.equal(await signIn('eve', 'analytical'), undefined)
    assert.deepEqual(asked.slice(1), [undefined, undefined])
  })

  it('forgets a password as soon as another one is set', async (t) => {
    const { directory, signIn } = await open(t)
    assert.ok(await signIn('ada', 'analytical'))
    await directory.setPassword('ada', { password: 'engine' })
    assert.equal(await signIn('ada', 'analytical'), undefined)
    assert.ok(await signIn('ada', 'engine'))
  })

  it('locks after so many failures, the right password too', async (t) => {
    const { signIn } = await open(t)
    for (let times = 0; times < 3; times += 1) assert.equal(await signIn('ada', 'wrong'), undefined)
    await assert.rejects(signIn('ada', 'analytical'), isRefused('account_locked'))
    assert.ok(await signIn('root', 'secret'))
  })
})

describe('a password changed while it is verified', () => {
  /** Changes the password between the question and the answer. */
  const withChange = async (t: TestContext, times: number, password: (turn: number) => string) => {
    let turn = 0
    const slow: Hasher = {
      ...hasher,
      verify: async (...question) => {
        const answer = await hasher.verify(...question)
        turn += 1
        if (turn <= times) await opened.directory.setPassword('ada', { password: password(turn) })
        return answer
      },
    }
    const opened = await open(t, { hasher: slow })
    return opened
  }

  it('does not let in with the old one', async (t) => {
    const { signIn } = await withChange(t, 1, () => 'engine')
    assert.equal(await signIn('ada', 'analytical'), undefined)
  })

  it('lets in with the new one', async (t) => {
    const { signIn } = await withChange(t, 1, () => 'engine')
    assert.ok(await signIn('ada', 'engine'))
  })

  it('hashed anew meanwhile, as an upgrade does, still lets in', async (t) => {
    const { signIn } = await withChange(t, 2, () => 'analytical')
    assert.ok(await signIn('ada', 'analytical'))
  })

  it('again and again is for later', async (t) => {
    const { signIn } = await withChange(t, 100, (turn) => `engine ${turn}`)
    await assert.rejects(signIn('ada', 'analytical'), isRefused('overloaded'))
  })
})

describe('what a refusal costs', () => {
  const noting = (costs: number[]): Hasher => ({
    ...hasher,
    verify(stored, password, decoy, signal) {
      costs.push(decoy.iterations)
      return hasher.verify(stored, password, decoy, signal)
    },
  })
  const stored = (iterations: number): StoredPassword => ({
    scheme: 'pbkdf2',
    prf: 'sha',
    iterations,
    salt: 'x',
    hash: '00',
  })

  it('as much as the dearest password met so far, whoever asks, and no more than the limit', async (t) => {
    const costs: number[] = []
    let max = 1000
    const { directory, signIn } = await open(t, { hasher: noting(costs), limits: () => ({ min: 1, max }) })
    await directory.createUser({ name: 'dear', password: { stored: stored(50) } })
    await directory.setAdministrator('boss', { stored: `-pbkdf2-${'0'.repeat(40)},salt,5000` })
    for (const name of ['eve', 'dear', 'eva', 'ada', 'boss', 'evi']) await signIn(name, 'wrong')
    max = 100
    await signIn('evo', 'wrong')
    assert.deepEqual(costs, [2, 50, 50, 50, 1000, 1000, 100])
  })
})

describe('limits of iterations', () => {
  const stored = (iterations: number): StoredPassword => ({
    scheme: 'pbkdf2',
    prf: 'sha256',
    iterations,
    salt: 'salt',
    hash: 'a'.repeat(64),
  })
  const limits = { limits: () => ({ min: 2, max: 1000 }) }

  it('refuse users beyond them, whatever the password, without computing it', async (t) => {
    const { directory, signIn } = await open(t, limits)
    await directory.createUser({ name: 'low', password: { stored: stored(1) } })
    // minutes, were it computed
    await directory.createUser({ name: 'high', password: { stored: stored(2_000_000_000) } })
    await assert.rejects(signIn('low', 'x'), isRefused('iterations_too_low'))
    await assert.rejects(signIn('high', 'x'), isRefused('iterations_too_high'))
    assert.ok(await signIn('ada', 'analytical'))
  })

  it('count for who is remembered too', async (t) => {
    let min = 1
    const { signIn } = await open(t, { limits: () => ({ min, max: 1000 }) })
    assert.ok(await signIn('ada', 'analytical'))
    min = 3
    await assert.rejects(signIn('ada', 'analytical'), isRefused('iterations_too_low'))
  })

  it('are not for administrators', async (t) => {
    const { signIn } = await open(t, { limits: () => ({ min: 1000, max: 2000 }) })
    assert.ok(await signIn('root', 'secret'))
  })
})
