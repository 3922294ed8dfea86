import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { Account } from '../../../src/directory/account.ts'
import { PROGRAM } from '../../../src/directory/caller.ts'
import type { Revocation } from '../../../src/directory/deps.ts'
import type { Directory } from '../../../src/directory/directory.ts'
import { createTestClock, isRefused, openTestNode, START_SECONDS, setRoles } from '../../support/directory.ts'

async function requireAccount(directory: Directory, name: string): Promise<Account> {
  return (await directory.findAccount(name)) ?? assert.fail(`${name} cannot sign in`)
}

async function openWithUser(t: TestContext) {
  const clock = createTestClock()
  const node = await openTestNode(t, { clock })
  await node.directory.createUser({ name: 'ada', password: { password: 'analytical' } }, PROGRAM)
  return { ...node, clock }
}

describe('a session', () => {
  it('has an id of 16 bytes of its own', async (t) => {
    const { directory } = await openWithUser(t)
    const account = await requireAccount(directory, 'ada')
    const [one, two] = [directory.createSession(account), directory.createSession(account)]
    assert.match(one.id, /^[A-Za-z0-9_-]{22}$/)
    assert.notEqual(one.id, two.id)
    assert.deepEqual(
      { ...one, id: '' },
      {
        ...{ id: '', name: 'ada', generation: account.sessionEpoch.generation, issuedAt: START_SECONDS },
      },
    )
  })

  const endings: readonly (readonly [string, (directory: Directory) => Promise<unknown>])[] = [
    ['a password change', (at) => at.setPassword('ada', PROGRAM, { password: 'engine' })],
    ['a deactivation', (at) => at.setActive('ada', PROGRAM, false)],
    ['a sign-out everywhere', (at) => at.signOut('ada', PROGRAM)],
    ['a deletion', (at) => at.removeUser('ada', PROGRAM, 'any')],
    ['an administrator of that name', (at) => at.setAdministrator('ada', PROGRAM, { password: 'engine' })],
  ]
  for (const [what, end] of endings) {
    it(`ends with ${what}, in the same second`, async (t) => {
      const { directory } = await openWithUser(t)
      const session = directory.createSession(await requireAccount(directory, 'ada'))
      assert.equal(await directory.isSessionLive(session), true)
      await end(directory)
      assert.equal(await directory.isSessionLive(session), false)
    })
  }

  it('opened after the change in the same second stays valid', async (t) => {
    const { directory } = await openWithUser(t)
    await directory.setPassword('ada', PROGRAM, { password: 'engine' })
    assert.equal(await directory.isSessionLive(directory.createSession(await requireAccount(directory, 'ada'))), true)
  })

  it('opened with an account whose password has changed since is not valid', async (t) => {
    const { directory } = await openWithUser(t)
    const account = await requireAccount(directory, 'ada')
    await directory.setPassword('ada', PROGRAM, { password: 'engine' })
    assert.equal(await directory.isSessionLive(directory.createSession(account)), false)
  })

  it('stays revoked when the user is activated or created again', async (t) => {
    const { directory } = await openWithUser(t)
    const session = directory.createSession(await requireAccount(directory, 'ada'))
    await directory.setActive('ada', PROGRAM, false)
    await directory.setActive('ada', PROGRAM, true)
    assert.equal(await directory.isSessionLive(session), false)
    const next = directory.createSession(await requireAccount(directory, 'ada'))
    await directory.removeUser('ada', PROGRAM, 'any')
    await directory.createUser({ name: 'ada' }, PROGRAM)
    assert.equal(await directory.isSessionLive(next), false)
  })

  it('stays valid when roles and grants change', async (t) => {
    const { directory } = await openWithUser(t)
    const session = directory.createSession(await requireAccount(directory, 'ada'))
    await setRoles(directory, 'ada', ['maths'])
    await directory.setGrant('ada', PROGRAM, { database: 'shop' }, 'rw')
    assert.equal(await directory.isSessionLive(session), true)
  })

  it('that is ended does not affect the others', async (t) => {
    const { directory } = await openWithUser(t)
    const account = await requireAccount(directory, 'ada')
    const [one, two] = [directory.createSession(account), directory.createSession(account)]
    await directory.endSession({ id: one.id, name: 'ada', expiresAt: START_SECONDS + 600 })
    assert.deepEqual([await directory.isSessionLive(one), await directory.isSessionLive(two)], [false, true])
    await directory.endSession({ id: one.id, name: 'ada', expiresAt: START_SECONDS + 600 })
  })

  it('is checked without the store', async (t) => {
    const { directory, clock, countQuestions } = await openWithUser(t)
    const account = await requireAccount(directory, 'ada')
    const [live, ended] = [directory.createSession(account), directory.createSession(account)]
    await directory.endSession({ id: ended.id, name: 'ada', expiresAt: START_SECONDS + 600 })
    clock.advance(2)
    await directory.catchUp()
    await directory.isSessionLive(live)
    countQuestions()
    const old = { ...live, generation: -1 }
    for (const session of [live, ended, old]) await directory.isSessionLive(session)
    assert.equal(countQuestions(), 0)
  })

  it('that ended is remembered by a node that starts later, and forgotten when it would have expired', async (t) => {
    const { directory, store, clock } = await openWithUser(t)
    const end = (id: string, seconds: number) =>
      directory.endSession({ id, name: 'ada', expiresAt: START_SECONDS + seconds })
    await end('short', 10)
    await end('long', 1000)
    clock.advance(61)
    await end('next', 1000)
    const left = async () => (await store.listEndedSessions(0, 10)).map(({ id }) => id)
    while ((await left()).includes('short')) await new Promise(setImmediate)
    assert.deepEqual(await left(), ['long', 'next'])
  })

  it('is found among many that ended on other nodes', async (t) => {
    const { directory, store, clock } = await openWithUser(t)
    const account = await requireAccount(directory, 'ada')
    const sessions = Array.from({ length: 1001 }, () => directory.createSession(account))
    clock.advance(2)
    for (const { id } of sessions) await store.endSession({ id, name: 'ada', expiresAt: START_SECONDS + 600 })
    await directory.catchUp()
    const answers = await Promise.all(sessions.map((session) => directory.isSessionLive(session)))
    assert.deepEqual(new Set(answers), new Set([false]))
  })

  it('of an unknown or invalid name is not valid', async (t) => {
    const { directory } = await openWithUser(t)
    for (const name of ['eve', '', '\u0000', '__proto__', 'x'.repeat(5000)]) {
      assert.equal(await directory.isSessionLive({ id: 'x', name, generation: 0, issuedAt: START_SECONDS }), false)
    }
  })

  it('is refused when cached data is too old', async (t) => {
    const { directory, clock, cut } = await openWithUser(t)
    await directory.catchUp()
    const session = directory.createSession(await requireAccount(directory, 'ada'))
    cut()
    clock.advance(60)
    assert.equal(await directory.isSessionLive(session), true)
    clock.advance(1)
    await assert.rejects(directory.isSessionLive(session), isRefused('store_unavailable'))
    await assert.rejects(
      async () => directory.isForeignTokenLive({ name: 'ada', issuedAt: 1 }),
      isRefused('store_unavailable'),
    )
  })
})

describe('a session of an administrator', () => {
  const changes: readonly (readonly [string, (directory: Directory) => Promise<unknown>])[] = [
    ['another password', (at) => at.setAdministrator('root', PROGRAM, { password: 'other' })],
    ['a deletion', (at) => at.removeAdministrator('root', PROGRAM)],
    ['the same stored form again', (at) => at.setAdministrator('root', PROGRAM, { stored: textOf(at, 'root') })],
  ]
  for (const [what, change] of changes) {
    it(`ends with ${what}`, async (t) => {
      const { directory } = await openTestNode(t)
      await directory.setAdministrator('root', PROGRAM, { password: 'secret' })
      await directory.setAdministrator('other', PROGRAM, { password: 'secret' })
      const session = directory.createSession(await requireAccount(directory, 'root'))
      const other = directory.createSession(await requireAccount(directory, 'other'))
      assert.equal(await directory.isSessionLive(session), true)
      await change(directory)
      assert.equal(await directory.isSessionLive(session), false)
      assert.equal(await directory.isSessionLive(other), true)
    })
  }

  it('does not pass to a user of that name', async (t) => {
    const { directory } = await openWithUser(t)
    await directory.setAdministrator('root', PROGRAM, { password: 'secret' })
    await directory.setAdministrator('ada', PROGRAM, { password: 'secret' })
    const session = directory.createSession(await requireAccount(directory, 'ada'))
    await directory.removeAdministrator('ada', PROGRAM)
    assert.equal((await requireAccount(directory, 'ada')).isAdmin, false)
    assert.equal(await directory.isSessionLive(session), false)
  })
})

const textOf = (directory: Directory, name: string): string =>
  directory.listAdministrators().find((one) => one.name === name)?.text ?? assert.fail('no such administrator')

describe('a token of another issuer', () => {
  const isLive = (directory: Directory, issuedAt: number | undefined, name = 'ada') =>
    directory.isForeignTokenLive({ name, issuedAt })

  it('is valid without a revocation, with or without a time', async (t) => {
    const { directory } = await openWithUser(t)
    for (const name of ['ada', 'eve']) {
      assert.deepEqual([await isLive(directory, undefined, name), await isLive(directory, 1, name)], [true, true])
    }
  })

  const ends: readonly (readonly [string, (directory: Directory) => Promise<unknown>])[] = [
    ['a password change', (at) => at.setPassword('ada', PROGRAM, { password: 'engine' })],
    ['a deletion', (at) => at.removeUser('ada', PROGRAM, 'any')],
    ['an administrator of that name', (at) => at.setAdministrator('ada', PROGRAM, { password: 'engine' })],
    [
      'deleting an administrator of that name',
      (at) => at.setAdministrator('ada', PROGRAM, { password: 'x' }).then(() => remove(at)),
    ],
  ]
  const remove = async (directory: Directory) => {
    await directory.setAdministrator('root', PROGRAM, { password: 'secret' })
    await directory.removeAdministrator('ada', PROGRAM)
  }
  for (const [what, end] of ends) {
    it(`must be later than ${what}`, async (t) => {
      const { directory, clock } = await openWithUser(t)
      await end(directory)
      // the clock of the issuer may be a minute ahead
      clock.advance(10)
      const times = [undefined, START_SECONDS - 1, START_SECONDS + 55, START_SECONDS + 60, Number.NaN]
      const early = await Promise.all(times.map((issuedAt) => isLive(directory, issuedAt)))
      assert.deepEqual(early, [false, false, false, false, false])
      const later = [START_SECONDS + 60.5, START_SECONDS + 61]
      assert.deepEqual(await Promise.all(later.map((issuedAt) => isLive(directory, issuedAt))), [true, true])
    })
  }

  it('is rejected while the user is inactive', async (t) => {
    const { directory, clock } = await openWithUser(t)
    clock.advance(10)
    for (const [isActive, issuedAt] of [
      [false, START_SECONDS + 10],
      [true, START_SECONDS + 80],
      [false, 'now'],
      [true, 'now'],
    ] as const) {
      await directory.setActive('ada', PROGRAM, isActive)
      clock.advance(10)
      assert.equal(await directory.isForeignTokenLive({ name: 'ada', issuedAt }), isActive)
    }
  })

  it('with a time in the future is rejected after a revocation, except within the clock leeway', async (t) => {
    const { directory, clock } = await openWithUser(t)
    const far = START_SECONDS + 10_000
    assert.equal(await isLive(directory, far), true, 'nothing has ended')
    await directory.signOut('ada', PROGRAM)
    clock.advance(10)
    const times = [START_SECONDS + 70, START_SECONDS + 71, far, Number.POSITIVE_INFINITY]
    const answers = await Promise.all(times.map((issuedAt) => isLive(directory, issuedAt)))
    assert.deepEqual(answers, [true, false, false, false])
    clock.advance(9989)
    assert.equal(await isLive(directory, far), true, 'its time has come')
  })

  it('of an unknown name reads the store only once', async (t) => {
    const { directory, countQuestions } = await openWithUser(t)
    await isLive(directory, 1, 'eve')
    countQuestions()
    await isLive(directory, 1, 'eve')
    assert.equal(countQuestions(), 0)
    await directory.createUser({ name: 'eve' }, PROGRAM)
    await directory.signOut('eve', PROGRAM)
    assert.equal(await isLive(directory, 1, 'eve'), false)
  })
})

describe('changes that fail half-way', () => {
  it('are all applied when they are delivered again', async (t) => {
    const { directory, store, clock, cut, mend } = await openWithUser(t)
    const session = directory.createSession(await requireAccount(directory, 'ada'))
    await directory.catchUp()
    await store.endSession({ id: session.id, name: 'ada', expiresAt: START_SECONDS + 600 })
    await store.setSetting({ section: 'admins', key: 'root', text: `-pbkdf2-${'a'.repeat(64)},s,1`, nowSeconds: 1 })
    const seen: string[] = []
    // the step after the sessions fails
    directory.onRevoked((ended) => {
      seen.push(ended.kind)
      if (seen.length === 1) cut()
    })
    await assert.rejects(directory.catchUp(), isRefused('store_unavailable'))
    assert.equal(directory.isAdministrator('root'), false)
    mend()
    clock.advance(1)
    await directory.catchUp()
    assert.equal(directory.isAdministrator('root'), true)
    assert.deepEqual(seen, ['session', 'session', 'account'])
    assert.equal(await directory.isSessionLive(session), false)
  })
})

describe('listeners', () => {
  it('are called after a revocation is in effect, until they are removed', async (t) => {
    const { directory } = await openWithUser(t)
    const seen: Revocation[] = []
    const leave = directory.onRevoked((ended) => seen.push(ended))
    await directory.setPassword('ada', PROGRAM, { password: 'engine' })
    await directory.endSession({ id: 'x', name: 'ada', expiresAt: START_SECONDS })
    await directory.setAdministrator('root', PROGRAM, { password: 'secret' })
    leave()
    await directory.setActive('ada', PROGRAM, false)
    assert.deepEqual(seen, [
      { kind: 'account', name: 'ada' },
      { kind: 'session', id: 'x', name: 'ada' },
      { kind: 'account', name: 'root' },
    ])
  })

  it('one that throws does not affect the others', async (t) => {
    const { directory } = await openWithUser(t)
    const seen: Revocation[] = []
    directory.onRevoked(() => {
      throw new Error('no')
    })
    directory.onRevoked((ended) => seen.push(ended))
    await directory.signOut('ada', PROGRAM)
    assert.equal(seen.length, 1)
  })
})

it('a token of another issuer ends while the server that has its user refuses it', async (t) => {
  const { directory, store } = await openWithUser(t)
  const token = { name: 'ada', issuedAt: 'now' } as const
  assert.equal(await directory.isForeignTokenLive(token), true)
  const stored = (await store.findUser('ada')) ?? assert.fail('no user')
  assert.ok(stored.record.kind === 'user')
  await store.writeUser({ expected: stored.sequence, record: { ...stored.record, isWithheld: true } })
  await directory.catchUp()
  assert.equal(await directory.isForeignTokenLive(token), false)
})
