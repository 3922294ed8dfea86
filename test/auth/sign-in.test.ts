import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { createLimits, type LimitSettings } from '../../src/auth/limits/limits.ts'
import { countTogether } from '../../src/auth/limits/together.ts'
import { type Attempt, createSignIn, type SignInDeps } from '../../src/auth/sign-in.ts'
import { SYSTEM_CLOCK } from '../../src/base/clock.ts'
import { createAlone } from '../../src/base/siblings.ts'
import type { Account } from '../../src/directory/account.ts'
import { PROGRAM } from '../../src/directory/caller.ts'
import type { Directory } from '../../src/directory/directory.ts'
import { createEmptyUser } from '../../src/directory/users/revisions.ts'
import type { Json } from '../../src/directory/users/user.ts'
import { createHasher, type Hasher } from '../../src/passwords/hasher.ts'
import { derive, PRFS, type Prf } from '../../src/passwords/password-digest.ts'
import { createPasswordMemory } from '../../src/passwords/password-memory.ts'
import type { StoredPassword } from '../../src/passwords/schemes.ts'
import { isRefused, openTestNode } from '../support/directory.ts'

const hasher = createHasher({ queue: () => 1000 })

const LIMITS: LimitSettings = {
  lock: { mode: 'enforce', threshold: 3, lifetimeMs: 60_000 },
  account: { burst: 20, refillPerMinute: 1 },
  peer: { burst: 100, refillPerMinute: 10 },
  signUps: { perPeer: 10, total: 1000 },
  maxCounters: 100,
}

interface Opened {
  readonly directory: Directory
  /** Stores a user as an earlier version may have, without the checks of today. */
  plant(name: string, password: StoredPassword): Promise<void>
  readonly seen: string[]
  signIn(name: string, password: string, rest?: Partial<Attempt>): Promise<Account | undefined>
}

async function open(t: TestContext, changed: Partial<SignInDeps> = {}): Promise<Opened> {
  const { directory, store } = await openTestNode(t, { clock: SYSTEM_CLOCK })
  await directory.createUser({ name: 'ada', password: { password: 'analytical' } }, PROGRAM)
  await directory.setAdministrator('root', PROGRAM, { password: 'secret' })
  const seen: string[] = []
  const signIn = createSignIn({
    findAccount: directory.findAccount,
    onPassword: async (account, password) => {
      seen.push(`${account.name} ${password}`)
      return account
    },
    hasher,
    memory: createPasswordMemory(() => 100),
    limits: countTogether(createLimits({ settings: () => LIMITS, clock: SYSTEM_CLOCK }), createAlone()),
    spendCode: directory.spendCode,
    isAccessToken: () => false,
    newPasswordWork: () => ({ unit: 'sha256', amount: 2 }),
    storedWork: directory.storedWork,
    iterationLimits: () => ({ min: 1, max: 1_000_000_000 }),
    ...changed,
  })
  return {
    directory,
    seen,
    async plant(name, password) {
      await store.writeUser({ expected: 'absent', record: createEmptyUser(name, password) })
      await directory.catchUp()
    },
    signIn: async (name, password, rest) => signIn({ name, password, peer: '192.0.2.1', ...rest }),
  }
}

const rows: readonly (readonly [string, string, string, boolean])[] = [
  ['a user with the right password', 'ada', 'analytical', true],
  ['a user with a wrong one', 'ada', 'engine', false],
  ['a user with an empty one', 'ada', '', false],
  ['an administrator with the right password', 'root', 'secret', true],
  ['an administrator with a wrong one', 'root', 'analytical', false],
  ['an unknown name', 'eve', 'analytical', false],
  ['the name of a member of every object', 'constructor', 'analytical', false],
]

describe('sign-in', () => {
  for (const [who, name, password, isRight] of rows) {
    it(`${isRight ? 'accepts' : 'rejects'} ${who}`, async (t) => {
      const { signIn, seen } = await open(t)
      for (let times = 0; times < 2; times += 1) {
        assert.equal((await signIn(name, password))?.name, isRight ? name : undefined)
      }
      assert.equal(seen.length, isRight ? 2 : 0)
    })
  }

  it('rejects an inactive user as it rejects a wrong password', async (t) => {
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
    await directory.setActive('ada', PROGRAM, false)
    assert.equal(await signIn('ada', 'analytical'), undefined)
    assert.equal(await signIn('eve', 'analytical'), undefined)
    assert.deepEqual(asked.slice(1), [undefined, undefined])
  })

  it('rejects the old password as soon as a new one is set', async (t) => {
    const { directory, signIn } = await open(t)
    assert.ok(await signIn('ada', 'analytical'))
    await directory.setPassword('ada', PROGRAM, { password: 'engine' })
    assert.equal(await signIn('ada', 'analytical'), undefined)
    assert.ok(await signIn('ada', 'engine'))
  })

  it('locks the account after three failures, for the right password too', async (t) => {
    const { signIn } = await open(t)
    for (let times = 0; times < 3; times += 1) assert.equal(await signIn('ada', 'wrong'), undefined)
    await assert.rejects(signIn('ada', 'analytical'), isRefused('account_locked'))
    assert.ok(await signIn('root', 'secret'))
  })
})

describe('attempts sent in parallel', () => {
  it('are not computed after the account was locked while they waited', async (t) => {
    let computed = 0
    const counting = createHasher({
      jobs: 1,
      queue: () => 1000,
      derive: (...given) => {
        computed += 1
        return derive(...given)
      },
    })
    const { signIn } = await open(t, { hasher: counting })
    const outcomes = await Promise.allSettled(Array.from({ length: 30 }, () => signIn('eve', 'wrong')))
    assert.equal(outcomes.filter(({ status }) => status === 'rejected').length, 27)
    // the next one starts before the failure of the third is counted
    assert.equal(computed, 4)
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
        if (turn <= times) await opened.directory.setPassword('ada', PROGRAM, { password: password(turn) })
        return answer
      },
    }
    const opened = await open(t, { hasher: slow })
    return opened
  }

  it('rejects the old one', async (t) => {
    const { signIn } = await withChange(t, 1, () => 'engine')
    assert.equal(await signIn('ada', 'analytical'), undefined)
  })

  it('accepts the new one', async (t) => {
    const { signIn } = await withChange(t, 1, () => 'engine')
    assert.ok(await signIn('ada', 'engine'))
  })

  it('accepts the same password with a new hash, as after an upgrade', async (t) => {
    const { signIn } = await withChange(t, 2, () => 'analytical')
    assert.ok(await signIn('ada', 'analytical'))
  })

  it('answers overloaded if it keeps changing', async (t) => {
    const { signIn } = await withChange(t, 100, (turn) => `engine ${turn}`)
    await assert.rejects(signIn('ada', 'analytical'), isRefused('overloaded'))
  })
})

describe('the cost of a refusal', () => {
  /** A hasher that counts what it computes, in SHA-256 iterations, on a machine where SHA-512 takes four times as long. */
  const createCounting = ({ isFree = false } = {}) => {
    const costs: Readonly<Record<string, number>> = { sha: 0.5, sha224: 1, sha256: 1, sha384: 4, sha512: 4 }
    let spent = 0
    const counting = createHasher({
      queue: () => 1000,
      stepMs: (unit) => costs[unit] ?? 0,
      derive: (password, by) => {
        spent += by.iterations * (costs[by.prf] ?? 0)
        return derive(password, isFree ? { ...by, iterations: 1 } : by)
      },
    })
    const measure = async (work: () => Promise<unknown>) => {
      spent = 0
      await work().catch(() => {})
      return spent
    }
    return { counting, measure }
  }
  const stored = (prf: Prf, iterations: number, scheme: 'pbkdf2' | 'simple+pbkdf2' = 'pbkdf2'): StoredPassword => ({
    scheme,
    prf,
    iterations,
    salt: 'x',
    hash: '0'.repeat(PRFS[prf].bytes * 2),
  })
  /** The rest is computed in whole iterations of another PRF. */
  const assertAbout = (actual: number, expected: number, name: string) =>
    assert.ok(Math.abs(actual - expected) < expected / 100, `${name}: ${actual}`)
  const FORMS: Readonly<Record<string, StoredPassword>> = {
    'sha512 user': stored('sha512', 200),
    'sha user': stored('sha', 100),
    'sha256 user': stored('sha256', 700),
    'nested user': stored('sha256', 50, 'simple+pbkdf2'),
    'simple user': { scheme: 'simple', salt: 'x', hash: '00' },
    'salted user': { scheme: 'salted', method: 'md5', salt: 'x', hash: '00' },
    'unusable user': { scheme: 'unusable', reason: 'prf', members: {} },
    'user below the limit': stored('sha', 1),
    'user above the limit': stored('sha', 1100),
    'user far above the limit': stored('sha', 2_000_000_000),
  }

  it('equals that of the most expensive stored password, for every name', async (t) => {
    const { counting, measure } = createCounting()
    const iterationLimits = () => ({ min: 10, max: 1000 })
    const { directory, signIn } = await open(t, { hasher: counting, iterationLimits })
    for (const [name, password] of Object.entries(FORMS)) {
      if (name !== 'user far above the limit')
        await directory.createUser({ name, password: { stored: password } }, PROGRAM)
    }
    await directory.catchUp()
    for (const name of ['nonexistent', 'ada', 'root', ...Object.keys(FORMS)]) {
      assertAbout(await measure(() => signIn(name, 'wrong')), 800, name)
    }
  })

  it('is at most ten times the limit', async (t) => {
    const { counting, measure } = createCounting()
    const { plant, signIn } = await open(t, { hasher: counting, iterationLimits: () => ({ min: 1, max: 100 }) })
    await plant('high', FORMS['user far above the limit'] ?? assert.fail())
    for (const name of ['high', 'nonexistent']) assertAbout(await measure(() => signIn(name, 'wrong')), 500, name)
  })

  it('is bounded, whatever is stored and whatever the options say', async (t) => {
    const { counting, measure } = createCounting({ isFree: true })
    const { plant, signIn } = await open(t, { hasher: counting })
    const right = await hasher.hash('right', { scheme: 'pbkdf2', prf: 'sha256', iterations: 1 })
    await plant('stored before', { ...right, iterations: 6_000_001 } as StoredPassword)
    const reasons: string[] = []
    const explain = (reason: string) => reasons.push(reason)
    for (const name of ['stored before', 'nonexistent', 'ada'])
      assert.equal(await measure(() => signIn(name, 'wrong')), 6_000_000, name)
    assert.equal(await measure(() => signIn('stored before', 'right', { explain })), 6_000_000)
    assert.deepEqual(reasons, ['the stored password costs too much to verify'])
  })

  it('is the same for a right password that is refused for another reason', async (t) => {
    const { counting, measure } = createCounting()
    const iterationLimits = () => ({ min: 3, max: 1000 })
    const { directory, signIn } = await open(t, { hasher: counting, iterationLimits })
    const totp: [string, Json] = ['totp', { key: 'JBSWY3DPEHPK3PXP' }]
    const three = await hasher.hash('right', { scheme: 'pbkdf2', prf: 'sha256', iterations: 3 })
    await directory.createUser({ name: 'second factor', password: { stored: three }, members: [totp] }, PROGRAM)
    await directory.createUser({ name: 'expensive', password: { stored: stored('sha512', 200) } }, PROGRAM)
    await directory.catchUp()
    const ATTEMPTS: readonly (readonly [string, () => Promise<unknown>])[] = [
      ['no code', () => signIn('second factor', 'right')],
      ['a wrong code', () => signIn('second factor', 'right', { code: '000000' })],
      ['an access token and no code', () => signIn('second factor', 'a token', { isProven: () => true })],
      ['too few iterations', () => signIn('ada', 'analytical')],
      ['a wrong password', () => signIn('ada', 'wrong')],
    ]
    for (const [name, attempt] of ATTEMPTS) assertAbout(await measure(attempt), 800, name)
  })

  it('is the same for a remembered password that is refused now', async (t) => {
    const { counting, measure } = createCounting()
    let min = 1
    const { signIn } = await open(t, { hasher: counting, iterationLimits: () => ({ min, max: 1000 }) })
    assert.equal(await measure(() => signIn('ada', 'analytical')), 2)
    assert.equal(await measure(() => signIn('ada', 'analytical')), 0)
    min = 3
    assert.equal(await measure(() => signIn('ada', 'analytical')), 2)
  })

  it('counts the passwords of administrators', async (t) => {
    const { counting, measure } = createCounting()
    const { directory, signIn } = await open(t, { hasher: counting })
    await directory.setAdministrator('boss', PROGRAM, { stored: `-pbkdf2-${'0'.repeat(128)},salt,300` })
    for (const name of ['boss', 'nonexistent', 'ada']) {
      assertAbout(await measure(() => signIn(name, 'wrong')), 1200, name)
    }
  })

  it('falls when the most expensive password is removed', async (t) => {
    const { counting, measure } = createCounting()
    const { directory, signIn } = await open(t, { hasher: counting })
    await directory.createUser({ name: 'expensive', password: { stored: stored('sha512', 200) } }, PROGRAM)
    await directory.catchUp()
    assert.equal(await measure(() => signIn('nonexistent', 'wrong')), 800)
    await directory.removeUser('expensive', PROGRAM, 'any')
    await directory.catchUp()
    assert.equal(await measure(() => signIn('nonexistent', 'wrong')), 2)
  })
})

describe('iteration limits', () => {
  const createStored = async (iterations: number): Promise<StoredPassword> =>
    hasher.hash('secret', { scheme: 'pbkdf2', prf: 'sha256', iterations })

  it('reject a user only after the password was verified', async (t) => {
    const { directory, signIn } = await open(t, { iterationLimits: () => ({ min: 2, max: 1000 }) })
    await directory.createUser({ name: 'low', password: { stored: await createStored(1) } }, PROGRAM)
    await directory.createUser({ name: 'high', password: { stored: await createStored(2000) } }, PROGRAM)
    for (const name of ['low', 'high', 'nonexistent']) assert.equal(await signIn(name, 'wrong'), undefined, name)
    await assert.rejects(signIn('low', 'secret'), isRefused('iterations_too_low'))
    await assert.rejects(signIn('high', 'secret'), isRefused('iterations_too_high'))
    assert.ok(await signIn('ada', 'analytical'))
  })

  it('reject a stored hash that no password can give', async (t) => {
    const { directory, signIn } = await open(t, { iterationLimits: () => ({ min: 2, max: 1000 }) })
    const broken = { ...(await createStored(1)), hash: '00' }
    await directory.createUser({ name: 'broken', password: { stored: broken } }, PROGRAM)
    await assert.rejects(signIn('broken', 'wrong'), isRefused('iterations_too_low'))
  })

  it('apply to a remembered password after a change', async (t) => {
    let min = 1
    const { signIn } = await open(t, { iterationLimits: () => ({ min, max: 1000 }) })
    assert.ok(await signIn('ada', 'analytical'))
    min = 3
    await assert.rejects(signIn('ada', 'analytical'), isRefused('iterations_too_low'))
  })

  it('do not apply to administrators', async (t) => {
    const { signIn } = await open(t, { iterationLimits: () => ({ min: 1000, max: 2000 }) })
    assert.ok(await signIn('root', 'secret'))
  })
})
