// A failover to a standby that lacks the last writes, while the other history reaches the same sequences again.
import assert from 'node:assert/strict'
import { after, describe, it, type TestContext } from 'node:test'
import { PROGRAM } from '../../src/directory/caller.ts'
import type { Directory } from '../../src/directory/directory.ts'
import type { StorePlace } from '../contract/store.ts'
import { lastSequence } from '../contract/store-values.ts'
import { createPostgresPlace, createSqlitePlace } from '../store/places.ts'
import { connectPostgres } from '../store/postgres-server.ts'
import { openTestNode, START_SECONDS, setRoles, type TestNode } from '../support/directory.ts'
import { loseWrites } from '../support/lose-writes.ts'

const clearing: (() => Promise<unknown>)[] = []
const server = await connectPostgres()
after(async () => {
  for (const clear of clearing) await clear()
  await server.stop()
})

interface Pair {
  readonly place: StorePlace
  /** Sees what is written by others only when it catches up. */
  readonly away: TestNode
  readonly other: TestNode
}

const ENGINES: readonly (readonly [engine: string, create: () => Promise<StorePlace>])[] = [
  ['SQLite', createSqlitePlace],
  ['PostgreSQL', () => createPostgresPlace(server)],
]

const STORED = `-pbkdf2-${'a'.repeat(64)},salt,10`
const OTHER = STORED.replace('salt', 'pepper')

const requireAccount = async (directory: Directory, name: string) =>
  (await directory.findAccount(name)) ?? assert.fail(`${name} cannot sign in`)

const openSession = async (directory: Directory, name: string) =>
  directory.createSession(await requireAccount(directory, name))

const endSession = (directory: Directory, id: string, name: string) =>
  directory.endSession({ id, name, expiresAt: START_SECONDS + 600 })

/** Changes that have nothing to do with the test, until the store has this sequence. */
async function writeUntil({ directory, store }: TestNode, sequence: number): Promise<void> {
  while ((await lastSequence(store)) < sequence)
    await directory.createUser({ name: `user ${await lastSequence(store)}` }, PROGRAM)
}

for (const [engine, create] of ENGINES)
  describe(`after a failover that lost writes, on ${engine}`, () => {
    const openPair = async (t: TestContext): Promise<Pair> => {
      const place = await create()
      clearing.push(place.remove)
      const away = await openTestNode(t, { url: place.url })
      return { place, away, other: await openTestNode(t, { url: place.url }) }
    }

    it('a node that was away knows what was revoked, when the store is beyond its position again', async (t) => {
      const { place, away, other } = await openPair(t)
      for (const name of ['ada', 'bob', 'eve']) await other.directory.createUser({ name }, PROGRAM)
      await other.directory.setAdministrator('root', PROGRAM, { password: 'secret' })
      const kept = await lastSequence(other.store)
      await away.directory.catchUp()
      const sessions = await Promise.all(['ada', 'bob', 'eve', 'root'].map((name) => openSession(away.directory, name)))
      await writeUntil(other, kept + 8)
      await away.directory.catchUp()
      await loseWrites(place.execute, kept)
      await other.directory.catchUp()
      const [ada, bob, eve, root] = sessions
      assert.ok(ada && bob && eve && root)
      await other.directory.setActive('ada', PROGRAM, false)
      await endSession(other.directory, bob.id, 'bob')
      await other.directory.signOut('eve', PROGRAM)
      await other.directory.setAdministrator('root', PROGRAM, { password: 'other' })
      await writeUntil(other, kept + 14)
      await away.directory.catchUp()
      for (const session of sessions) assert.equal(await away.directory.isSessionLive(session), false, session.name)
      assert.equal(await away.directory.findAccount('ada'), undefined)
    })

    it('a user that was read before its change was known is not the lost one', async (t) => {
      const { place, away, other } = await openPair(t)
      await other.directory.createUser({ name: 'ada' }, PROGRAM)
      await away.directory.catchUp()
      await away.directory.createUser({ name: 'bob' }, PROGRAM)
      assert.ok(await away.directory.findAccount('bob'))
      await loseWrites(place.execute, 1)
      await other.directory.catchUp()
      await other.directory.createUser({ name: 'other' }, PROGRAM)
      await away.directory.catchUp()
      assert.equal(await away.directory.findAccount('bob'), undefined)
    })

    it('a session that ended at a sequence which was read before is ended', async (t) => {
      const { place, away, other } = await openPair(t)
      for (const name of ['ada', 'bob']) await other.directory.createUser({ name }, PROGRAM)
      await away.directory.catchUp()
      const session = await openSession(away.directory, 'bob')
      await endSession(away.directory, 'lost', 'ada')
      await loseWrites(place.execute, 2)
      await other.directory.catchUp()
      await endSession(other.directory, session.id, 'bob')
      await away.directory.catchUp()
      assert.equal(await away.directory.isSessionLive(session), false)
    })

    it('an administrator that was lost is none', async (t) => {
      const { place, away, other } = await openPair(t)
      await other.directory.createUser({ name: 'ada' }, PROGRAM)
      await away.directory.catchUp()
      await away.directory.setAdministrator('eve', PROGRAM, { password: 'secret' })
      assert.ok(away.directory.isAdministrator('eve'))
      await loseWrites(place.execute, 1)
      await other.directory.catchUp()
      await setRoles(other.directory, 'ada', ['maths'])
      await away.directory.catchUp()
      assert.equal(away.directory.isAdministrator('eve'), false)
    })

    it('no session of the lost history is valid in the new one, at the same sequences', async (t) => {
      const { place, other } = await openPair(t)
      const { directory } = other
      await directory.createUser({ name: 'ada' }, PROGRAM)
      await directory.setAdministrator('root', PROGRAM, { stored: STORED })
      const kept = await lastSequence(other.store)
      const write = async () => {
        await directory.createUser({ name: 'bob' }, PROGRAM)
        await directory.signOut('bob', PROGRAM)
        await directory.createUser({ name: 'eve' }, PROGRAM)
        await directory.removeUser('eve', PROGRAM, 'any')
        await directory.createUser({ name: 'eve' }, PROGRAM)
        await directory.setAdministrator('new', PROGRAM, { stored: STORED })
        return Promise.all(['bob', 'eve', 'new'].map((name) => openSession(directory, name)))
      }
      const lost = await write()
      await loseWrites(place.execute, kept)
      await directory.catchUp()
      const found = await write()
      for (const session of lost) assert.equal(await directory.isSessionLive(session), false, session.name)
      for (const session of found) assert.equal(await directory.isSessionLive(session), true, session.name)
    })

    it('a sign-out that is repeated ends the sessions that were opened after the lost one', async (t) => {
      const place = await create()
      clearing.push(place.remove)
      const { directory, store } = await openTestNode(t, { url: place.url })
      for (const name of ['ada', 'bob']) await directory.createUser({ name }, PROGRAM)
      await directory.setAdministrator('root', PROGRAM, { stored: STORED })
      const before = await store.findUser('ada')
      const signOut = async () => {
        await directory.signOut('ada', PROGRAM)
        await directory.setAdministrator('root', PROGRAM, { stored: OTHER })
        return Promise.all(['ada', 'root'].map((name) => openSession(directory, name)))
      }
      const lost = await signOut()
      await loseWrites(place.execute, 3)
      await store.writeUser({ expected: 'absent', record: before?.record ?? assert.fail() })
      await place.execute('DELETE FROM cardea_marks WHERE sequence > 3')
      await place.execute('UPDATE cardea_state SET sequence = 3, searched = 3')
      await place.execute("UPDATE cardea_users SET sequence = 1 WHERE name = 'ada'")
      await directory.catchUp()
      await signOut()
      for (const session of lost) assert.equal(await directory.isSessionLive(session), false, session.name)
    })

    it('two administrators cannot both be the last to be removed', async (t) => {
      const { place, away, other } = await openPair(t)
      for (const name of ['a', 'b']) await other.directory.setAdministrator(name, PROGRAM, { password: 'secret' })
      const kept = await lastSequence(other.store)
      await writeUntil(away, kept + 8)
      await away.directory.catchUp()
      await loseWrites(place.execute, kept)
      await other.directory.catchUp()
      await other.directory.removeAdministrator('a', PROGRAM)
      await assert.rejects(away.directory.removeAdministrator('b', PROGRAM), { code: 'forbidden' })
    })
  })
