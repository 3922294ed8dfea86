import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { createKnownHeaders } from '../../src/auth/known-headers.ts'
import { createLimits, type LimitSettings } from '../../src/auth/limits/limits.ts'
import { CacheCounts } from '../../src/base/caches.ts'
import { PROGRAM } from '../../src/directory/caller.ts'
import { createTestClock, openTestNode } from '../support/directory.ts'

const LIMITS: LimitSettings = {
  lock: { mode: 'enforce', threshold: 3, lifetimeMs: 60_000 },
  account: { burst: 20, refillPerMinute: 1 },
  peer: { burst: 100, refillPerMinute: 10 },
  signUps: { perPeer: 10, total: 1000 },
  maxCounters: 100,
}

const PEER = '192.0.2.1'
const PASSWORD = 'analytical'

const toHeader = (password: string) => `Basic ${Buffer.from(`ada:${password}`).toString('base64')}`

/** A user whose password was verified before. */
async function open(t: TestContext) {
  const clock = createTestClock()
  const scene = { memorySize: 100, iterations: { min: 1, max: 1_000_000_000 }, isUpgradeDue: false }
  const { directory, cut } = await openTestNode(t, { clock })
  const counts = new CacheCounts()
  const limits = createLimits({ settings: () => LIMITS, clock })
  const notes: string[] = []
  const { peekAccount } = directory
  const knownHeaders = createKnownHeaders({
    directory: { peekAccount, isUpgradeDue: () => scene.isUpgradeDue },
    limits,
    iterationLimits: () => scene.iterations,
    noteSignIn: (name, peer) => notes.push(`${name} ${peer}`),
    size: () => scene.memorySize,
    counts,
  })
  await directory.createUser({ name: 'ada', password: { password: PASSWORD }, roles: ['reader'] }, PROGRAM)
  await directory.catchUp()
  const account = await directory.findAccount('ada')
  assert.ok(account)
  knownHeaders.remember(toHeader(PASSWORD), account)
  const fail = () => limits.countFailure({ name: 'ada', peer: PEER, salt: saltOf(account), version: account.version })
  const recallFrom = (peer: string, password = PASSWORD) => knownHeaders.find(toHeader(password), { peer })
  return { directory, cut, clock, scene, notes, counts, fail, recallFrom }
}

type Opened = Awaited<ReturnType<typeof open>>

const saltOf = ({ password }: { readonly password: object }) => ('salt' in password ? String(password.salt) : '')

/** After each of these, the whole sign-in has to decide. The account is read again, as any other request would do. */
const CHANGES: readonly [name: string, change: (opened: Opened) => unknown][] = [
  [
    'the password was changed',
    ({ directory }) => directory.setPassword('ada', PROGRAM, { password: 'another password' }),
  ],
  ['the user was deactivated', ({ directory }) => directory.setActive('ada', PROGRAM, false)],
  ['the user was removed', ({ directory }) => directory.removeUser('ada', PROGRAM, 'any')],
  [
    'the user was removed and created again',
    async ({ directory }) => {
      await directory.removeUser('ada', PROGRAM, 'any')
      await directory.createUser({ name: 'ada', password: { password: PASSWORD } }, PROGRAM)
    },
  ],
  [
    'the user has expired',
    async ({ directory, clock }) => {
      const expiresAt = Math.floor(clock.nowMs() / 1000) + 60
      await directory.changeUser('ada', PROGRAM, (user) => ({ ...user, expiresAt }))
      clock.advance(60)
    },
  ],
  [
    'a second factor was set',
    ({ directory }) =>
      directory.changeUser('ada', PROGRAM, (user) => ({
        ...user,
        document: { ...user.document, members: [['totp', { key: 'JBSWY3DPEHPK3PXP' }]] },
      })),
  ],
  ['the account is locked for the peer', ({ fail }) => [fail(), fail(), fail()]],
  ['the stored hash has too few iterations', ({ scene }) => (scene.iterations = { min: 1000, max: 1_000_000_000 })],
  ['the stored hash has to be upgraded', ({ scene }) => (scene.isUpgradeDue = true)],
  ['passwords are not remembered any more', ({ scene }) => (scene.memorySize = 0)],
  [
    'the store has not responded for too long',
    ({ cut, clock }) => {
      cut()
      clock.advance(61)
    },
  ],
]

describe('a password that was verified before', () => {
  it('is accepted, and noted as a sign-in', async (t) => {
    const { recallFrom, notes, counts } = await open(t)
    const account = recallFrom(PEER)
    assert.equal(account?.name, 'ada')
    assert.deepEqual(notes, [`ada ${PEER}`])
    assert.deepEqual([counts.hits, counts.misses], [1, 0])
  })

  it('is accepted with the roles of now', async (t) => {
    const { directory, recallFrom } = await open(t)
    assert.deepEqual(recallFrom(PEER)?.roles, ['reader'])
    await directory.changeUser('ada', PROGRAM, (user) => ({
      ...user,
      document: { ...user.document, roles: ['writer'] },
    }))
    await directory.catchUp()
    await directory.findAccount('ada')
    assert.deepEqual(recallFrom(PEER)?.roles, ['writer'])
  })

  it('is accepted from a peer that is not locked out', async (t) => {
    const { fail, recallFrom } = await open(t)
    for (let count = 0; count < 3; count += 1) fail()
    assert.equal(recallFrom('192.0.2.2')?.name, 'ada')
  })

  for (const [name, change] of CHANGES)
    it(`is not accepted without the whole sign-in after: ${name}`, async (t) => {
      const opened = await open(t)
      assert.ok(opened.recallFrom(PEER))
      await change(opened)
      await opened.directory.catchUp().catch(() => {})
      await opened.directory.findAccount('ada').catch(() => {})
      assert.equal(opened.recallFrom(PEER), undefined)
      assert.equal(opened.notes.length, 1)
    })

  it('does not make another password accepted, nor count it', async (t) => {
    const { recallFrom, notes, counts } = await open(t)
    assert.equal(recallFrom(PEER, 'analytical engine'), undefined)
    assert.deepEqual(notes, [])
    assert.deepEqual([counts.hits, counts.misses], [0, 0])
  })
})
