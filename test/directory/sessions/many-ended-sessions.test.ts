// A name has at most 1 000 records of ended sessions; beyond that its session epoch is raised. An access token has 100.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it, type TestContext } from 'node:test'
import { createAccessToken, toTokenMark } from '../../../src/directory/access-token.ts'
import { PROGRAM } from '../../../src/directory/caller.ts'
import type { Directory } from '../../../src/directory/directory.ts'
import type { Session } from '../../../src/directory/sessions/session.ts'
import { SECURITY_EVENTS } from '../../../src/modules.ts'
import { createSecurityEvents } from '../../../src/observe/security-events.ts'
import type { SecurityRecord } from '../../../src/observe/security-record.ts'
import { createTestClock, openTestNode, START_SECONDS } from '../../support/directory.ts'

const LIMIT = 1000
const EXPIRES_AT = START_SECONDS + 600

const end = (directory: Directory, name: string, id: string) =>
  directory.endSession({ id, name, expiresAt: EXPIRES_AT })

async function endMany(directory: Directory, name: string, count: number): Promise<void> {
  for (let number = 0; number < count; number += 1) await end(directory, name, `session ${number} of ${name}`)
}

async function createSession(directory: Directory, name: string): Promise<Session> {
  return directory.createSession((await directory.findAccount(name)) ?? assert.fail(`${name} cannot sign in`))
}

/** A file, so that a second node can share it. */
function createPlace(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'cardea-ended-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return `sqlite:${join(folder, 'store.db')}`
}

/** As if so many sessions had ended: each by itself would be a write to the disk. */
function insertRecords(url: string, name: string, count: number): void {
  const database = new DatabaseSync(url.replace('sqlite:', ''))
  database.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count})
    INSERT INTO cardea_ended_sessions (id, name, expires_at, sequence)
    SELECT 's' || i, '${name}', ${EXPIRES_AT}, state.sequence + i FROM n, cardea_state state;
    UPDATE cardea_state SET sequence = sequence + ${count}`)
  database.close()
}

async function openWithAccounts(t: TestContext, url?: string, clock = createTestClock()) {
  const node = await openTestNode(t, { clock, ...(url && { url }) })
  await node.directory.createUser({ name: 'ada', password: { password: 'analytical' } }, PROGRAM)
  await node.directory.setAdministrator('root', PROGRAM, { password: 'secret' })
  return node
}

for (const name of ['ada', 'root']) {
  describe(`ended sessions of ${name}`, () => {
    it('are kept up to the limit, and other sessions stay valid', async (t) => {
      const { directory, store } = await openWithAccounts(t)
      const live = await createSession(directory, name)
      await endMany(directory, name, LIMIT)
      assert.equal((await store.listEndedIds(name)).length, LIMIT)
      assert.equal(await directory.isSessionLive(live), true)
    })

    it('beyond the limit end all sessions by the epoch, and are forgotten', async (t) => {
      const { directory, store } = await openWithAccounts(t)
      const [ended, other] = [await createSession(directory, name), await createSession(directory, name)]
      await end(directory, name, ended.id)
      await endMany(directory, name, LIMIT)
      assert.deepEqual(await store.listEndedIds(name), [])
      assert.deepEqual([await directory.isSessionLive(ended), await directory.isSessionLive(other)], [false, false])
      assert.equal(await directory.isSessionLive(await createSession(directory, name)), true)
    })
  })
}

it('the password stays when the epoch of an administrator is raised', async (t) => {
  const { directory } = await openWithAccounts(t)
  const before = directory.listAdministrators()
  await endMany(directory, 'root', LIMIT + 1)
  assert.deepEqual(directory.listAdministrators(), before)
})

it('sessions of a name that only tokens of other issuers have end too', async (t) => {
  const clock = createTestClock()
  const { directory, store } = await openWithAccounts(t, undefined, clock)
  const token = { name: 'eve', issuedAt: START_SECONDS, id: 'session 0 of eve' }
  assert.equal(await directory.isForeignTokenLive(token), true)
  await endMany(directory, 'eve', LIMIT + 1)
  assert.deepEqual(await store.listEndedIds('eve'), [])
  assert.equal(await directory.isForeignTokenLive(token), false)
  clock.advance(10)
  assert.equal(await directory.isForeignTokenLive({ ...token, issuedAt: START_SECONDS + 61, id: 'new' }), true)
  assert.equal(await directory.findUser('eve'), undefined)
})

for (const name of ['ada', 'root']) {
  it(`another node forgets the records of ${name} only when it knows the epoch`, async (t) => {
    const url = createPlace(t)
    const { directory: one } = await openWithAccounts(t, url)
    const { directory: other } = await openTestNode(t, { url, clock: createTestClock() })
    const session = await createSession(one, name)
    await end(one, name, session.id)
    insertRecords(url, name, LIMIT - 1)
    await other.catchUp()
    assert.equal(other.isSessionEnded(session.id), true)
    for (const id of ['one more', 'and the first after the epoch']) await end(one, name, id)
    await other.catchUp()
    assert.equal(other.isSessionEnded(session.id), false, 'the record is gone')
    assert.equal(await other.isSessionLive(session), false)
    assert.equal(await other.isSessionLive(await createSession(one, name)), true)
  })
}

describe('sessions that sign-ins of their user have replaced', () => {
  it('go on under the new session for running requests, on every node', async (t) => {
    const url = createPlace(t)
    const [clock, otherClock] = [createTestClock(), createTestClock()]
    const { directory } = await openWithAccounts(t, url, clock)
    const { directory: other } = await openTestNode(t, { url, clock: otherClock })
    const account = (await directory.findAccount('ada')) ?? assert.fail()
    const [old, fresh] = [await createSession(directory, 'ada'), await createSession(directory, 'ada')]
    await directory.replaceSession({ id: old.id, name: 'ada', expiresAt: EXPIRES_AT }, fresh.id)
    await other.catchUp()
    assert.equal(other.findCurrentSession(old.id), fresh.id)
    assert.equal(other.isSessionOver(old.id, account, false), false, 'a request that was on its way')
    otherClock.advance(11)
    assert.deepEqual(
      [other.isSessionOver(old.id, account, false), other.isSessionOver(old.id, account, true)],
      [true, false],
    )
    await end(directory, 'ada', fresh.id)
    await other.catchUp()
    assert.equal(other.isSessionOver(old.id, account, true), true)
  })

  it('are at most so many; then they run out by themselves, and no other session ends', async (t) => {
    const { directory, store } = await openWithAccounts(t)
    const live = await createSession(directory, 'ada')
    const replace = (number: number) =>
      directory.replaceSession({ id: `old ${number}`, name: 'ada', expiresAt: EXPIRES_AT }, `new ${number}`)
    for (let number = 0; number < LIMIT + 1; number += 1) await replace(number)
    assert.equal((await store.listEndedSessions(0, LIMIT + 1)).length, LIMIT)
    assert.equal(await directory.isSessionLive(live), true)
    await end(directory, 'ada', live.id)
    assert.equal(await directory.isSessionLive(live), false, 'a sign-out still ends a session')
  })
})

const TOKEN_LIMIT = 100

async function createToken(directory: Directory, name: string): Promise<string> {
  const validUntil = START_SECONDS + 1000
  const { token } = createAccessToken({ user: 'ada', name, createdAt: START_SECONDS, validUntil })
  await directory.changeUser('ada', PROGRAM, (user) => ({
    ...user,
    multiModel: { ...user.multiModel, tokens: [...user.multiModel.tokens, { id: 1, ...token }] },
  }))
  return toTokenMark({ id: 1, ...token })
}

describe('ended sessions that rest on an access token', () => {
  it('remove that access token beyond its limit, and end nothing else of the owner', async (t) => {
    const { directory, store } = await openWithAccounts(t)
    const [used, other] = [await createToken(directory, 'used'), await createToken(directory, 'other')]
    const own = await createSession(directory, 'ada')
    const endOne = (id: string) => directory.endSession({ id, name: 'ada', expiresAt: EXPIRES_AT, accessToken: used })
    for (let number = 0; number < TOKEN_LIMIT; number += 1) await endOne(`session ${number}`)
    const marks = async () => (await directory.findUser('ada'))?.multiModel.tokens.map(toTokenMark)
    assert.deepEqual(await marks(), [used, other])
    await endOne('one more')
    assert.deepEqual(await marks(), [other])
    assert.equal(await directory.isSessionLive(own), true)
    assert.equal(directory.isSessionEnded('session 0'), true)
    assert.deepEqual(await store.listEndedIds('ada'), [], 'none counts for the owner')
  })

  it('are delivered to other nodes with the name of the owner', async (t) => {
    const url = createPlace(t)
    const { directory: one } = await openWithAccounts(t, url)
    const { directory: other } = await openTestNode(t, { url, clock: createTestClock() })
    const heard: unknown[] = []
    other.onRevoked((ended) => heard.push(ended))
    await one.endSession({ id: 'x', name: 'ada', expiresAt: EXPIRES_AT, accessToken: 'mark' })
    await other.catchUp()
    assert.deepEqual(heard.at(-1), { kind: 'session', id: 'x', name: 'ada' })
    assert.equal(other.isSessionEnded('x'), true)
  })
})

describe('ended sessions that were opened with a token of another issuer', () => {
  const endOne = (directory: Directory, id: string) =>
    directory.endSession({ id, name: 'ada', expiresAt: EXPIRES_AT, foreignToken: 'mark' })
  const endTooMany = async (directory: Directory) => {
    for (let number = 0; number <= TOKEN_LIMIT; number += 1) await endOne(directory, `session ${number}`)
  }

  it('end all sessions of that token beyond its limit by one record, and nothing else of the name', async (t) => {
    const { directory, store } = await openWithAccounts(t)
    const own = await createSession(directory, 'ada')
    const ofToken = { name: 'ada', issuedAt: START_SECONDS, id: 'kept', mark: 'mark' }
    for (let number = 0; number < TOKEN_LIMIT; number += 1) await endOne(directory, `session ${number}`)
    assert.equal(await directory.isForeignTokenLive(ofToken), true)
    await endOne(directory, 'one more')
    assert.equal(await directory.isForeignTokenLive(ofToken), false)
    assert.equal(await directory.isForeignTokenLive({ ...ofToken, mark: 'other' }), true)
    assert.equal(await directory.isSessionLive(own), true)
    assert.equal(await directory.isSessionLive({ ...own, foreignToken: 'mark' }), false)
    assert.deepEqual([await store.listEndedIds('ada'), await store.listEndedIds('ada:mark')], [[], ['mark']])
  })

  it('make other nodes check all credentials of the name', async (t) => {
    const url = createPlace(t)
    const { directory: one } = await openWithAccounts(t, url)
    const { directory: other } = await openTestNode(t, { url, clock: createTestClock() })
    const heard: unknown[] = []
    other.onRevoked((revocation) => heard.push(revocation))
    await endTooMany(one)
    await other.catchUp()
    assert.deepEqual(heard.at(-1), { kind: 'account', name: 'ada' })
    assert.equal(await other.isForeignTokenLive({ name: 'ada', issuedAt: START_SECONDS, mark: 'mark' }), false)
  })
})

it('raising the epoch because of too many records leaves an event', async (t) => {
  const records: SecurityRecord[] = []
  const events = createSecurityEvents({
    rows: SECURITY_EVENTS,
    node: () => 'n',
    sinks: [(record) => records.push(record)],
  })
  const { directory } = await openTestNode(t, { clock: createTestClock(), events })
  await directory.createUser({ name: 'ada', password: { password: 'analytical' } }, PROGRAM)
  await endMany(directory, 'ada', LIMIT + 1)
  const { event, fields } = records.at(-1) ?? {}
  assert.deepEqual(
    [event, fields],
    ['session.revoked', { subject: 'ada', reason: 'more than 1000 sessions were ended one by one' }],
  )
})
