import assert from 'node:assert/strict'
import type { Store } from '../../src/directory/store-port/store.ts'
import type { Stored, UserWriteOutcome } from '../../src/directory/store-port/users.ts'
import { toAddressKey } from '../../src/directory/users/address.ts'
import { createEmptyUser } from '../../src/directory/users/revisions.ts'
import type { Json, User } from '../../src/directory/users/user.ts'
import type { StoredPassword } from '../../src/passwords/schemes.ts'
import { HASH_WORK } from '../../src/store/migrations.ts'
import type { StoreTests } from './store.ts'
import {
  create,
  createIn,
  deleteIn,
  isRefusal,
  lastSequence,
  newUser,
  PASSWORD,
  sequenceOf,
  storedBy,
  toPlain,
  withRoles,
} from './store-values.ts'

const parsed = (text: string): Json => JSON.parse(text)

/** Everything that JSON columns, object keys and text encodings are known to spoil. */
const ALICE: User = {
  ...createEmptyUser('alice', PASSWORD),
  isActive: false,
  sessionEpoch: { generation: 3, seconds: 1_800_000_000 },
  document: {
    revision: `7-${'0'.repeat(32)}`,
    roles: ['editor', 'ž', 'constructor'],
    members: [
      ['2', 'second'],
      ['1', 'first'],
      ['constructor', parsed('{"constructor":{"isAdmin":true},"b":1,"a":2}')],
      ['text', 'U+0000 \0, a fox 🦊, \u2028'],
      ['numbers', [0, -1.5, 1e300, null, true]],
      ['type', 'user'],
    ],
  },
  multiModel: {
    grants: new Map([
      ['*', { level: 'ro', collections: new Map([['*', 'ro']]) }],
      ['constructor', { level: undefined, collections: new Map([['__proto__', 'rw']]) }],
      ['__proto__', { level: 'none', collections: new Map() }],
    ]),
    extra: { nested: { deep: ['x'] } },
    config: { theme: 'dark' },
    tokens: [{ id: 1, name: 't', createdAt: 1, validUntil: 2, fingerprint: 'v1...abcdef', digest: 'd'.repeat(64) }],
  },
}

const WRITE_ALICE = { expected: 'absent', record: ALICE } as const

const at = (outcomes: readonly UserWriteOutcome[], index: number): UserWriteOutcome =>
  outcomes[index] ?? assert.fail(`no outcome ${index}`)

async function keepMember(store: Store, member: string, value: Json): Promise<void> {
  const user = newUser('alice')
  const document = { ...user.document, members: [[member, value]] as const }
  const stored = await store.findUser('alice')
  const write = { expected: stored?.sequence ?? 'absent', record: { ...user, document } } as const
  const written = storedBy(await store.writeUser(write), write)
  assert.deepEqual(await store.findUser('alice'), written)
}

const UNSTORABLE = ['a\0b', 'a\ud800', '\udc00', 'x'.repeat(1025), 'ž'.repeat(600)]

const STORABLE = [
  `'; DROP TABLE cardea_users; --`,
  'constructor',
  '$1',
  '?1',
  '%',
  '\\',
  'A',
  'a',
  'á',
  'a\u0301',
  '🦊',
]

const withPassword = (name: string, password: StoredPassword) => ({
  expected: 'absent' as const,
  record: createEmptyUser(name, password),
})

export const USER_TESTS: StoreTests = {
  async 'the largest amount of work of each unit is listed'({ store }) {
    assert.deepEqual(await store.listHashWork(), [])
    const rows = [
      ['a', 'sha256', 10],
      ['b', 'sha256', 30],
      ['c', 'sha512', 20],
      ['d', 'sha', 40],
    ] as const
    for (const [name, prf, iterations] of rows) {
      await store.writeUser(withPassword(name, { scheme: 'pbkdf2', salt: '', hash: '', prf, iterations }))
    }
    await store.writeUser(withPassword('e', { scheme: 'simple', salt: '', hash: '' }))
    const work = await store.listHashWork()
    assert.deepEqual(
      work.toSorted((x, y) => (x.unit < y.unit ? -1 : 1)),
      [
        { unit: 'sha', amount: 40 },
        { unit: 'sha256', amount: 30 },
        { unit: 'sha512', amount: 20 },
      ],
    )
  },

  async 'the migration finds the cost of existing passwords'({ store, place }) {
    await store.writeUser(WRITE_ALICE)
    const before = await store.listHashWork()
    await place.execute('UPDATE cardea_users SET prf = NULL, iterations = NULL')
    const { sqlite, postgres } = HASH_WORK
    const [statement = ''] = /UPDATE[^;]*/.exec(store.engine === 'sqlite' ? sqlite : postgres) ?? []
    await place.execute(statement)
    assert.deepEqual(await store.listHashWork(), before)
    assert.equal(before.length, 1)
  },

  async 'the iterations of a changed or deleted user no longer count'({ store }) {
    await createIn(store, 'alice')
    await deleteIn(store, 'alice')
    assert.deepEqual(await store.listHashWork(), [])
  },

  async 'finds a user as it was written'({ store }) {
    const stored = storedBy(await store.writeUser(WRITE_ALICE), WRITE_ALICE)
    assert.deepEqual(await store.findUser('alice'), stored)
  },

  async 'a member that would be the prototype of an object is kept'({ store }) {
    await keepMember(store, 'nested', parsed('{"__proto__":{"isAdmin":true}}'))
  },

  async 'members that CouchDB refuses are kept'({ store }) {
    await keepMember(store, 'half', 'a pair \ud800')
    await keepMember(store, '__proto__', {})
  },

  async 'an unknown name is not found'({ store }) {
    await createIn(store, 'alice')
    for (const name of ['Alice', 'alice ', 'alic', '', ...UNSTORABLE]) {
      assert.equal(await store.findUser(name), undefined, JSON.stringify(name))
    }
  },

  async 'names that differ in any byte are different users'({ store }) {
    const stored = new Map<string, Stored>()
    for (const name of STORABLE) stored.set(name, storedBy(await store.writeUser(create(name)), create(name)))
    for (const name of STORABLE) assert.deepEqual(await store.findUser(name), stored.get(name))
    assert.deepEqual(await store.findUsers([...STORABLE, 'another', 'a\0b', '\ud800']), stored)
    assert.equal(await store.countUsers(), STORABLE.length)
  },

  async 'a distinct name is refused while another user has it in another case or form'({ store }) {
    await createIn(store, 'Ada')
    const distinct = (name: string) => ({ ...create(name), isDistinct: true })
    assert.deepEqual(await store.writeUser(distinct('ａｄａ')), { kind: 'look-alike' })
    const outcomes = await store.importUsers([distinct('ADA'), distinct('bob'), distinct('BOB')])
    assert.deepEqual(
      outcomes.map(({ kind }) => kind),
      ['look-alike', 'written', 'look-alike'],
    )
    assert.equal((await store.writeUser(create('ada'))).kind, 'written')
  },

  async 'a name that must be apart is refused while another user has it as address, and the other way round'({
    store,
  }) {
    const toAddress = (text: string) => ({ address: { text, verifiedAt: 1 } })
    const named = (name: string, address?: string) => ({
      expected: 'absent' as const,
      record: { ...newUser(name), ...(address !== undefined && toAddress(address)) },
      apart: { addressKey: toAddressKey(name), ...(address !== undefined && { names: [address] }) },
    })
    const ada = { ...newUser('ada'), ...toAddress('Ada@example.com') }
    await store.writeUser({ expected: 'absent', record: ada })
    assert.deepEqual(await store.writeUser(named('ada@EXAMPLE.com')), { kind: 'taken' })
    assert.equal((await store.writeUser(named('bob@example.com', 'bob@example.com'))).kind, 'written')
    const bea = { ...newUser('bea'), ...toAddress('BOB@example.com') }
    const late = { expected: 'absent' as const, record: bea, apart: { names: ['other', 'BOB@example.com'] } }
    assert.deepEqual(await store.writeUser(late), { kind: 'taken' })
    const outcomes = await store.importUsers([
      named('cy@example.com'),
      {
        expected: 'absent',
        record: { ...newUser('cyd'), ...toAddress('cy@example.com') },
        apart: { names: ['cy@example.com'] },
      },
      named('dan', 'dan@example.com'),
      named('DAN@example.com'),
    ])
    assert.deepEqual(
      outcomes.map(({ kind }) => kind),
      ['written', 'taken', 'written', 'taken'],
    )
  },

  async 'rejects a name that no database can store'({ store }) {
    for (const name of UNSTORABLE) {
      await assert.rejects(store.writeUser(create(name)), isRefusal('bad_request'), JSON.stringify(name))
    }
    assert.equal(await lastSequence(store), 0)
  },

  async 'a name can be created once'({ store }) {
    const current = await createIn(store, 'alice')
    assert.deepEqual(await store.writeUser(create('alice')), { kind: 'conflict', current })
    assert.equal(await store.countUsers(), 1)
  },

  async 'the version that was read can be replaced'({ store }) {
    const expected = await createIn(store, 'alice')
    const write = { expected, record: withRoles(newUser('alice'), 'editor') }
    const stored = storedBy(await store.writeUser(write), write)
    assert.deepEqual(await store.findUser('alice'), stored)
    assert.equal(await store.countUsers(), 1)
  },

  async 'an older version cannot be replaced, and nothing changes'({ store }) {
    const first = await createIn(store, 'alice')
    const write = { expected: first, record: withRoles(newUser('alice'), 'editor') }
    const stored = storedBy(await store.writeUser(write), write)
    const late = { expected: first, record: withRoles(newUser('alice'), 'late') }
    assert.deepEqual(await store.writeUser(late), { kind: 'conflict', current: stored.sequence })
    assert.deepEqual(await store.findUser('alice'), stored)
    assert.equal(await lastSequence(store), stored.sequence)
  },

  async 'a sequence for an unknown name is a conflict'({ store }) {
    const outcome = await store.writeUser({ expected: 5, record: newUser('alice') })
    assert.deepEqual(outcome, { kind: 'conflict', current: 'absent' })
  },

  async 'finds a deleted user as a tombstone that is not counted'({ store }) {
    await createIn(store, 'alice')
    await createIn(store, 'bob')
    const sequence = await deleteIn(store, 'alice')
    const found = await store.findUser('alice')
    assert.equal(found?.sequence, sequence)
    assert.equal(found?.record.kind, 'tombstone')
    assert.equal(await store.countUsers(), 1)
  },

  async 'a new user of that name must have seen the tombstone'({ store }) {
    await createIn(store, 'alice')
    const expected = await deleteIn(store, 'alice')
    assert.deepEqual(await store.writeUser(create('alice')), { kind: 'conflict', current: expected })
    sequenceOf(await store.writeUser({ expected, record: newUser('alice') }))
    assert.equal((await store.findUser('alice'))?.record.kind, 'user')
    assert.equal(await store.countUsers(), 1)
  },

  async 'one of many writers of the same version succeeds'({ store, openAnother }) {
    const expected = await createIn(store, 'alice')
    const stores = [store, await openAnother()]
    const writes = Array.from({ length: 20 }, (_, i) => ({
      expected,
      record: withRoles(newUser('alice'), `role-${i}`),
    }))
    const outcomes = await Promise.all(writes.map((write, i) => (stores[i % 2] ?? store).writeUser(write)))
    const stored = outcomes.flatMap((outcome, i) =>
      outcome.kind === 'written' ? [storedBy(outcome, writes[i] ?? create('alice'))] : [],
    )
    assert.deepEqual([await store.findUser('alice')], stored)
  },

  async 'an import returns an outcome for each record'({ store }) {
    const taken = await createIn(store, 'bob')
    const bob = withRoles(newUser('bob'), 'editor')
    const outcomes = await store.importUsers([
      create('alice'),
      create('bob'),
      { expected: taken, record: bob },
      { expected: 99, record: newUser('carol') },
      create('dave'),
    ])
    assert.deepEqual(toPlain(outcomes), [
      { kind: 'written', sequence: 2 },
      { kind: 'conflict', current: 1 },
      { kind: 'written', sequence: 3 },
      { kind: 'conflict', current: 'absent' },
      { kind: 'written', sequence: 4 },
    ])
    assert.deepEqual([await store.countUsers(), await lastSequence(store)], [3, 4])
    assert.deepEqual(await store.findUser('bob'), storedBy(at(outcomes, 2), { record: bob }))
  },

  async 'within an import later records see earlier ones'({ store }) {
    const record = withRoles(newUser('alice'), 'editor')
    const outcomes = await store.importUsers([create('alice'), create('alice'), { expected: 1, record }])
    assert.deepEqual(toPlain(outcomes), [
      { kind: 'written', sequence: 1 },
      { kind: 'conflict', current: 1 },
      { kind: 'written', sequence: 2 },
    ])
    assert.deepEqual(await store.findUser('alice'), storedBy(at(outcomes, 2), { record }))
    assert.equal(await store.countUsers(), 1)
  },

  async 'an import of nothing does nothing'({ store }) {
    assert.deepEqual(await store.importUsers([]), [])
    assert.equal(await lastSequence(store), 0)
  },

  async 'a failed import writes nothing, and the store stays usable'({ store }) {
    const circular: Record<string, Json> = {}
    circular['self'] = circular
    const broken: User = { ...newUser('bob'), multiModel: { ...newUser('bob').multiModel, extra: circular } }
    await assert.rejects(store.importUsers([create('alice'), { expected: 'absent', record: broken }]), TypeError)
    await assert.rejects(store.importUsers([create('alice'), create('a\0')]), isRefusal('bad_request'))
    assert.equal(await store.findUser('alice'), undefined)
    assert.equal(await createIn(store, 'alice'), 1)
  },

  async 'imports a thousand users at once'({ store }) {
    const outcomes = await store.importUsers(Array.from({ length: 1000 }, (_, i) => create(`user-${i}`)))
    assert.equal(outcomes.filter(({ kind }) => kind === 'written').length, 1000)
    assert.deepEqual([await store.countUsers(), await lastSequence(store)], [1000, 1000])
  },

  async 'written users are there after a restart'({ store, openAnother }) {
    const stored = storedBy(await store.writeUser(WRITE_ALICE), WRITE_ALICE)
    await store.close()
    const again = await openAnother()
    assert.deepEqual(await again.findUser('alice'), stored)
    assert.equal(await again.countUsers(), 1)
  },
}
