import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { PROGRAM } from '../../../src/directory/caller.ts'
import type { Directory } from '../../../src/directory/directory.ts'
import type { SessionUse } from '../../../src/directory/sessions/session.ts'
import { lastSequence } from '../../contract/store-values.ts'
import { type ChangedSettings, createTestClock, openTestNode, START_SECONDS } from '../../support/directory.ts'

async function openWithUser(t: TestContext, settings: ChangedSettings = {}) {
  const clock = createTestClock()
  const node = await openTestNode(t, { clock, settings })
  await node.directory.createUser({ name: 'ada', password: { password: 'analytical' } }, PROGRAM)
  return { ...node, clock }
}

const findAda = async (directory: Directory) =>
  (await directory.findAccount('ada')) ?? assert.fail('ada cannot sign in')

async function openSession(
  directory: Directory,
  change: Partial<SessionUse> = {},
  hasPassword = false,
): Promise<string> {
  const { id, name, generation, issuedAt } = directory.createSession(await findAda(directory), {
    hasPassword,
    hasFactor: false,
  })
  const use = { id, name, generation, door: 'document', createdAt: issuedAt, expiresAt: issuedAt + 600 }
  directory.noteSession(id, () => ({ ...use, peer: '192.0.2.1', userAgent: 'curl/8', ...change }))
  return id
}

const listIds = async (directory: Directory, name = 'ada') =>
  (await directory.listSessions({ name, limit: 100 })).sessions.map(({ id }) => id)

describe('the list of sessions', () => {
  it('shows a session as soon as it is opened', async (t) => {
    const { directory } = await openWithUser(t)
    const id = await openSession(directory, { userAgent: 'x'.repeat(1000) })
    const { sessions, next } = await directory.listSessions({ name: 'ada', limit: 100 })
    assert.equal(next, undefined)
    assert.deepEqual(sessions, [
      {
        id,
        name: 'ada',
        generation: (await findAda(directory)).sessionEpoch.generation,
        door: 'document',
        createdAt: START_SECONDS,
        seenAt: START_SECONDS,
        expiresAt: START_SECONDS + 660,
        peer: '192.0.2.1',
        userAgent: 'x'.repeat(256),
      },
    ])
    assert.deepEqual(await listIds(directory, 'bob'), [])
  })

  it('has the newest first, also of one second', async (t) => {
    const { directory, clock } = await openWithUser(t)
    const ids: string[] = []
    for (let at = 0; at < 20; at += 1) {
      ids.unshift(await openSession(directory))
      clock.advance(0.04)
    }
    assert.deepEqual(await listIds(directory), ids)
  })

  it('has pages', async (t) => {
    const { directory, clock } = await openWithUser(t)
    const ids: string[] = []
    for (let at = 0; at < 3; at += 1) {
      ids.unshift(await openSession(directory, { createdAt: START_SECONDS + at }))
      clock.advance(1)
    }
    const first = await directory.listSessions({ limit: 2 })
    assert.deepEqual(
      first.sessions.map(({ id }) => id),
      ids.slice(0, 2),
    )
    const second = await directory.listSessions({ limit: 2, ...(first.next && { after: first.next }) })
    assert.deepEqual(
      second.sessions.map(({ id }) => id),
      ids.slice(2),
    )
  })

  it('notes the last use of a session once a minute', async (t) => {
    const { directory, clock } = await openWithUser(t)
    const id = await openSession(directory)
    const { generation } = (await findAda(directory)).sessionEpoch
    let described = 0
    const use = () => {
      described += 1
      const expiresAt = Math.floor(clock.nowMs() / 1000) + 600
      const rest = { name: 'ada', generation, door: 'document', createdAt: START_SECONDS + 60 }
      return { ...rest, id, expiresAt, peer: '192.0.2.2', userAgent: 'curl/9' }
    }
    directory.noteSession(id, use)
    assert.equal(described, 0)
    clock.advance(60)
    for (let times = 0; times < 3; times += 1) directory.noteSession(id, use)
    assert.equal(described, 1)
    const [session] = (await directory.listSessions({ limit: 1 })).sessions
    const minute = START_SECONDS + 60 - ((START_SECONDS + 60) % 60)
    assert.deepEqual(
      [session?.createdAt, session?.seenAt, session?.peer],
      [START_SECONDS, Math.max(minute, START_SECONDS), '192.0.2.2'],
    )
  })

  const endings: readonly (readonly [string, (directory: Directory, id: string) => Promise<unknown>])[] = [
    ['signed out', (at, id) => at.endSession({ id, name: 'ada', expiresAt: START_SECONDS + 600 })],
    ['revoked', (at, id) => at.revokeSession(id, PROGRAM)],
    ['revoked by a new password', (at) => at.setPassword('ada', PROGRAM, { password: 'engine' })],
    ['revoked with all others', (at) => at.signOut('ada', PROGRAM)],
    ['of a deactivated user', (at) => at.setActive('ada', PROGRAM, false)],
    ['of a removed user', (at) => at.removeUser('ada', PROGRAM, 'any')],
  ]
  for (const [what, end] of endings) {
    it(`omits a session that is ${what}`, async (t) => {
      const { directory } = await openWithUser(t)
      const id = await openSession(directory)
      assert.deepEqual(await listIds(directory), [id])
      await end(directory, id)
      assert.deepEqual(await listIds(directory), [])
    })
  }

  it('omits a session that has expired, and forgets it', async (t) => {
    const { directory, store, clock } = await openWithUser(t)
    const id = await openSession(directory)
    assert.deepEqual(await listIds(directory), [id])
    clock.advance(660)
    assert.deepEqual(await listIds(directory), [])
    assert.equal(await store.findSessionRecord(id), undefined)
  })

  it('omits a session opened with a foreign token once its subject is signed out', async (t) => {
    const { directory, clock } = await openWithUser(t)
    const id = await openSession(directory, { generation: undefined })
    assert.deepEqual(await listIds(directory), [id])
    clock.advance(1)
    await directory.signOut('ada', PROGRAM)
    assert.deepEqual(await listIds(directory), [])
  })

  it('keeps noted uses while the store is down', async (t) => {
    const { directory, cut, mend } = await openWithUser(t)
    await directory.catchUp()
    await directory.findAccount('ada')
    cut()
    const id = await openSession(directory)
    await assert.rejects(directory.listSessions({ limit: 1 }))
    mend()
    assert.deepEqual(await listIds(directory), [id])
  })

  it('is complete when the directory is closed', async (t) => {
    const { directory, store } = await openWithUser(t)
    const id = await openSession(directory)
    await directory.close()
    assert.equal((await store.findSessionRecord(id))?.name, 'ada')
  })
})

describe('revoking one session', () => {
  it('ends it on every node and leaves the others', async (t) => {
    const { directory } = await openWithUser(t)
    const account = (await directory.findAccount('ada')) ?? assert.fail('ada cannot sign in')
    const [one, other] = [await openSession(directory), await openSession(directory)]
    const heard: unknown[] = []
    directory.onRevoked((revocation) => heard.push(revocation))
    assert.equal((await directory.revokeSession(one, PROGRAM))?.id, one)
    assert.deepEqual(heard, [{ kind: 'session', id: one, name: 'ada' }])
    const base = { name: 'ada', generation: account.sessionEpoch.generation, issuedAt: START_SECONDS }
    assert.equal(await directory.isSessionLive({ ...base, id: one }), false)
    assert.equal(await directory.isSessionLive({ ...base, id: other }), true)
  })

  it('keeps it ended as long as a copy could be renewed', async (t) => {
    const { directory, store } = await openWithUser(t)
    const id = await openSession(directory)
    await directory.revokeSession(id, PROGRAM)
    const [ended] = await store.listEndedSessions(0, 1)
    assert.equal(ended?.expiresAt, START_SECONDS + 3600)
  })

  it('changes nothing for an unknown id, or for a session that has ended', async (t) => {
    const { directory, store } = await openWithUser(t)
    const id = await openSession(directory)
    await directory.signOut('ada', PROGRAM)
    const before = await lastSequence(store)
    assert.equal(await directory.revokeSession(id, PROGRAM), undefined)
    assert.equal(await directory.revokeSession('unknown', PROGRAM), undefined)
    assert.equal(await lastSequence(store), before)
  })

  it('by its renewal token lasts as long as a token that lives longer than options allow now', async (t) => {
    const { directory, clock } = await openWithUser(t)
    const id = await openSession(directory, { expiresAt: START_SECONDS + 86_400 })
    const token = await directory.createRenewalToken(id, 86_400)
    assert.equal(await directory.endRenewable(token), 'ada')
    // more than maxSessionSeconds
    clock.advance(7200)
    // ending another one forgets what has expired
    await directory.endSession({ id: 'x', name: 'ada' })
    assert.equal(directory.isSessionEnded(id), true)
  })
})

describe('the number of sessions of a user', () => {
  async function openMany(t: TestContext, maxSessions: number) {
    const { directory, clock } = await openWithUser(t, { chttpd_auth: { max_sessions: maxSessions } })
    const open = async (hasPassword: boolean) => {
      clock.advance(1)
      await directory.makeRoom(await findAda(directory), { hasPassword })
      return openSession(directory, {}, hasPassword)
    }
    return { directory, clock, open }
  }

  it('is limited: another one ends the oldest', async (t) => {
    const { directory, open } = await openMany(t, 2)
    const ids = [await open(true), await open(true), await open(true), await open(true)]
    assert.deepEqual(await listIds(directory), [ids[3], ids[2]])
    assert.deepEqual(
      ids.map((id) => directory.isSessionEnded(id)),
      [true, true, false, false],
    )
  })
  it('counts sessions without the password apart, so that they end none of the others', async (t) => {
    const { directory, open } = await openMany(t, 1)
    const own = await open(true)
    const [first, second] = [await open(false), await open(false)]
    assert.deepEqual(await listIds(directory), [second, own])
    assert.equal(directory.isSessionEnded(first), true)
  })
  it('is limited for sign-ins at the same time, and within one second the oldest end', async (t) => {
    const { directory, clock } = await openWithUser(t, { chttpd_auth: { max_sessions: 2 } })
    const ids: string[] = []
    const account = await findAda(directory)
    await Promise.all(Array.from({ length: 6 }, () => directory.makeRoom(account, { hasPassword: true })))
    for (let turn = 0; turn < 6; turn += 1) {
      clock.advance(0.01)
      ids.push(await openSession(directory, {}, true))
    }
    await directory.listSessions({ name: 'ada', limit: 100 })
    assert.deepEqual(
      ids.map((id) => directory.isSessionEnded(id)),
      [true, true, true, true, false, false],
    )
  })
  it('does not count expired sessions', async (t) => {
    const { directory, clock, open } = await openMany(t, 2)
    await open(true)
    clock.advance(300)
    const kept = await open(true)
    clock.advance(400)
    const last = await open(true)
    assert.deepEqual([directory.isSessionEnded(kept), directory.isSessionEnded(last)], [false, false])
  })
  it('is not limited with 0', async (t) => {
    const { directory, open } = await openMany(t, 0)
    for (let turn = 0; turn < 5; turn += 1) await open(true)
    assert.equal((await listIds(directory)).length, 5)
  })
  it('is not limited with 0 even if the list is full: it has the newest 1000', async (t) => {
    const { directory, clock } = await openWithUser(t)
    const first = await openSession(directory)
    clock.advance(1)
    for (let turn = 0; turn < 1005; turn += 1) await openSession(directory)
    const { sessions } = await directory.listSessions({ name: 'ada', limit: 2000 })
    assert.equal(sessions.length, 1000)
    assert.equal(await directory.revokeSession(first, PROGRAM), undefined)
    const { generation } = (await findAda(directory)).sessionEpoch
    const session = { id: first, name: 'ada', generation, issuedAt: START_SECONDS }
    assert.equal(await directory.isSessionLive(session), true)
  })
  it('returns an account whose next session is live, even if the session epoch was raised', async (t) => {
    const { directory, clock } = await openMany(t, 1)
    for (let turn = 0; turn < 1002; turn += 1) {
      clock.advance(1)
      const account = await directory.makeRoom(await findAda(directory), { hasPassword: true })
      const session = directory.createSession(account, { hasPassword: true, hasFactor: false })
      assert.equal(await directory.isSessionLive(session), true, `sign-in ${turn}`)
      const { id, name, generation, issuedAt } = session
      const use = { id, name, generation, door: 'document', createdAt: issuedAt, expiresAt: issuedAt + 5000 }
      directory.noteSession(id, () => ({ ...use, peer: '', userAgent: '' }))
    }
  })
})
