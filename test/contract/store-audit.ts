import assert from 'node:assert/strict'
import { makeAuditKey, readSigningKey } from '../../src/observe/audit/audit-key.ts'
import {
  type AuditRecord,
  CHAIN_START,
  type ChainPlace,
  hashRecord,
  sealAll,
} from '../../src/observe/audit/audit-record.ts'
import type { AuditRange, AuditStore } from '../../src/observe/audit/audit-store.ts'
import type { StoreTests } from './store.ts'
import { countTurns, lastSequence, listChanges } from './store-values.ts'

const NODE = 'a@host'
const START_MS = 1_800_000_000_000

type Given = readonly [event: string, time: number, fields: AuditRecord['fields']]

const EVENTS: readonly Given[] = [
  ['sign-in.accepted', 0, { subject: 'ada', actor: 'ada', peer: '192.0.2.1' }],
  ['user.changed', 1, { subject: 'bob', actor: 'ada', changed: ['roles', 'password'], peer: '192.0.2.1' }],
  ['sign-in.refused', 2, { subject: 'bob', reason: 'wrong password', peer: '192.0.2.2', count: 5 }],
  ['server.stopped', 3, {}],
]

const seal = (events: readonly Given[], last: ChainPlace = CHAIN_START, node = NODE): AuditRecord[] =>
  sealAll(
    events.map(([event, time, fields]) => ({
      event,
      time: START_MS + time,
      outcome: event.endsWith('refused') ? 'failure' : 'success',
      node,
      fields,
    })),
    last,
  )

const append = (store: AuditStore, records: readonly AuditRecord[], after: ChainPlace = CHAIN_START) => {
  const [first, ...others] = records
  if (!first) throw new TypeError('give records')
  const { sequence, hash } = after
  const sign = (chain: object) => JSON.stringify(chain)
  const { node } = first
  return store.appendAudit({ node, after: { sequence, hash }, records: [first, ...others], nowMs: START_MS, sign })
}

/** Fills the store for tests of other parts. */
export const fillAudit = async (store: AuditStore): Promise<void> => void (await append(store, seal(EVENTS)))

const list = (store: AuditStore, range: Partial<AuditRange> = {}) =>
  store.listAuditRecords({ order: 'oldest', limit: 100, ...range })

const kinds = async (store: AuditStore, range: Partial<AuditRange> = {}) =>
  (await list(store, range)).map(({ event }) => event)

export const AUDIT_TESTS: StoreTests = {
  async 'keeps records as they were sealed'({ store }) {
    const records = seal(EVENTS)
    assert.equal(await append(store, records), true)
    const kept = await list(store)
    assert.deepEqual(kept, records)
    for (const record of kept) assert.equal(hashRecord(record), record.hash)
  },

  async 'remembers the end of each chain, and its checkpoint'({ store }) {
    assert.equal(await store.findAuditChain(NODE), undefined)
    const records = seal(EVENTS)
    await append(store, records)
    await append(store, seal(EVENTS, CHAIN_START, 'b@host'))
    const { sequence, hash } = records.at(-1) as AuditRecord
    const end = { node: NODE, sequence, hash, purged: CHAIN_START }
    assert.deepEqual(await store.findAuditChain(NODE), { ...end, checkpoint: JSON.stringify(end) })
    assert.equal((await store.findAuditChain('b@host'))?.sequence, EVENTS.length)
  },

  async 'refuses records that do not continue the chain'({ store, openAnother }) {
    const other = await openAnother()
    const [first, second] = [seal(EVENTS), seal(EVENTS)]
    const both = await Promise.all([append(store, first), append(other, second)])
    assert.deepEqual(both.toSorted(), [false, true])
    assert.equal((await list(store)).length, EVENTS.length)
    assert.equal(await append(store, seal(EVENTS, { sequence: 4, hash: 'x' }), { sequence: 4, hash: 'x' }), false)
  },

  async 'fails if the database drops the records, or the end of the chain'({ store, place }) {
    const records = seal(EVENTS)
    for (const [operation, table] of [
      ['INSERT', 'cardea_audit'],
      ['UPDATE', 'cardea_audit_chains'],
    ] as const) {
      const isSqlite = place.url.startsWith('sqlite')
      const [drop, undo] = isSqlite
        ? [`TRIGGER dropping BEFORE ${operation} ON ${table} BEGIN SELECT RAISE(IGNORE); END`, 'TRIGGER dropping']
        : [`RULE dropping AS ON ${operation} TO ${table} DO INSTEAD NOTHING`, `RULE dropping ON ${table}`]
      await place.execute(`CREATE ${drop}`)
      await assert.rejects(append(store, records), table)
      await place.execute(`DROP ${undo}`)
      assert.deepEqual(await list(store), [])
    }
    assert.equal(await append(store, records), true)
  },

  async 'filters by user, event, outcome and time'({ store }) {
    await append(store, seal(EVENTS))
    assert.deepEqual(await kinds(store, { user: 'ada' }), ['sign-in.accepted', 'user.changed'])
    assert.deepEqual(await kinds(store, { user: 'bob' }), ['user.changed', 'sign-in.refused'])
    assert.deepEqual(await kinds(store, { user: 'bob', outcome: 'failure' }), ['sign-in.refused'])
    assert.deepEqual(await kinds(store, { event: 'server.stopped' }), ['server.stopped'])
    assert.deepEqual(await kinds(store, { sinceMs: START_MS + 1, untilMs: START_MS + 3 }), [
      'user.changed',
      'sign-in.refused',
    ])
    assert.deepEqual(await kinds(store, { user: 'a\0d\ud800' }), [])
  },

  async 'lists page by page in both orders, also with a filter'({ store }) {
    const records = seal(EVENTS)
    await append(store, records)
    for (const order of ['oldest', 'newest'] as const) {
      const expected = order === 'oldest' ? records : records.toReversed()
      const page = await list(store, { order, limit: 3 })
      assert.deepEqual([...page, ...(await list(store, { order, limit: 3, after: page.at(-1) }))], expected)
    }
    const [first] = await list(store, { user: 'ada', limit: 1, order: 'newest' })
    assert.deepEqual(await kinds(store, { user: 'ada', order: 'newest', after: first }), ['sign-in.accepted'])
    await assert.rejects(list(store, { limit: 10_001 }), RangeError)
  },

  async 'deletes old records from the beginning of the chain, and remembers the last one'({ store }) {
    const records = seal([...EVENTS, ['server.started', -1000, {}]])
    await append(store, records)
    const sign = (chain: object) => JSON.stringify(chain)
    const { sequence, hash } = records.at(-1) as AuditRecord
    const purge = (time: number, after: ChainPlace = { sequence, hash }) =>
      store.purgeAudit({ node: NODE, beforeMs: START_MS + time, nowMs: START_MS, after, sign })
    assert.equal(await purge(2, { sequence, hash: 'another end' }), 0)
    assert.equal(await purge(2), 2)
    const [, second, third] = records
    const chain = await store.findAuditChain(NODE)
    assert.deepEqual(chain?.purged, { sequence: 2, hash: second?.hash })
    assert.deepEqual(JSON.parse(chain?.checkpoint ?? '').purged, chain?.purged)
    assert.equal((await list(store, { limit: 2 })).at(-1)?.previous, third?.previous)
    assert.equal(await purge(2), 0)
    assert.equal(await purge(4), 3)
    assert.equal((await store.findAuditChain(NODE))?.purged.sequence, 5)
    assert.equal(await append(store, seal(EVENTS, records.at(-1)), records.at(-1)), true)
  },

  async 'keeps old records that the next one does not continue'({ store }) {
    const [first, ...others] = seal(EVENTS)
    // an attacker makes records old, and puts their hashes right
    const forged = seal([['sign-in.accepted', -1000, { subject: 'eve' }]])
    await append(store, [...forged, ...others])
    const { sequence, hash } = others.at(-1) as AuditRecord
    const sign = () => undefined
    const purge = { node: NODE, beforeMs: START_MS, nowMs: START_MS, after: { sequence, hash }, sign }
    await assert.rejects(store.purgeAudit(purge))
    assert.equal((await list(store)).length, EVENTS.length)
    assert.equal(await store.findAuditHash(NODE, 1), forged[0]?.hash)
    assert.equal(await store.findAuditHash(NODE, 5), undefined)
    assert.notEqual(first?.hash, forged[0]?.hash)
  },

  async 'forgets chains that were neither written nor purged for long'({ store }) {
    const records = seal(EVENTS)
    await append(store, records)
    await append(store, seal(EVENTS, CHAIN_START, 'gone@host'))
    assert.equal(await store.forgetAuditChains(START_MS), 0)
    const { sequence, hash } = records.at(-1) as AuditRecord
    const owned = { node: NODE, after: { sequence, hash }, sign: () => undefined }
    assert.equal(await store.purgeAudit({ ...owned, beforeMs: 0, nowMs: START_MS + 1 }), 0)
    assert.equal(await store.forgetAuditChains(START_MS + 1), EVENTS.length)
    assert.equal((await store.findAuditChain(NODE))?.node, NODE)
    assert.equal(await store.findAuditChain('gone@host'), undefined)
  },

  async 'erases a person without changing a hash'({ store }) {
    await append(
      store,
      seal([...EVENTS, ['access-token.created', 9, { subject: 'ada', actor: 'bob', token: 'laptop' }]]),
    )
    const key = readSigningKey(makeAuditKey())
    const erasure = { name: 'ada', pseudonym: 'erased-1', key }
    assert.equal(await store.eraseAudit(erasure), 3)
    assert.equal(await store.eraseAudit(erasure), 0)
    const records = await list(store)
    assert.ok(!/"ada"|192\.0\.2\.1"|laptop/.test(JSON.stringify(records)), JSON.stringify(records))
    for (const record of records) assert.equal(hashRecord(record), record.hash)
    assert.deepEqual(await kinds(store, { user: 'erased-1' }), [
      'sign-in.accepted',
      'user.changed',
      'access-token.created',
    ])
    assert.equal(records[1]?.fields['subject'], 'bob')
    assert.deepEqual(Object.keys(records[1]?.salts ?? {}), ['subject'])
    assert.equal(records[0]?.erased['peer']?.mark?.key, key.id)
  },

  async 'erases more records than one page'({ store }) {
    const many = Array.from({ length: 450 }, (_, at): Given => ['sign-out', at, { subject: 'ada', actor: 'ada' }])
    await append(store, seal(many))
    assert.equal(await store.eraseAudit({ name: 'ada', pseudonym: 'erased-1', key: undefined }), 450)
    assert.deepEqual(await list(store, { user: 'ada' }), [])
  },

  async 'lets requests have their turn while many records are erased and deleted'({ store }) {
    const many = Array.from({ length: 1100 }, (_, at): Given => ['sign-out', at, { subject: 'ada', actor: 'ada' }])
    const records = seal(many)
    await append(store, records)
    await append(store, seal(many, CHAIN_START, 'gone@host'))
    const erasure = { name: 'ada', pseudonym: 'erased-1', key: undefined }
    assert.ok((await countTurns(() => store.eraseAudit(erasure))) >= 10)
    const { sequence, hash } = records.at(-1) as AuditRecord
    const purge = {
      node: NODE,
      beforeMs: START_MS + 2000,
      nowMs: START_MS + 1,
      after: { sequence, hash },
      sign: () => undefined,
    }
    assert.ok((await countTurns(() => store.purgeAudit(purge))) >= 2)
    assert.ok((await countTurns(() => store.forgetAuditChains(START_MS + 1))) >= 2)
    assert.deepEqual(await list(store), [])
  },

  async 'does not change the directory'({ store }) {
    await append(store, seal(EVENTS))
    assert.equal(await lastSequence(store), 0)
    assert.deepEqual(await listChanges(store, 0, 10), [])
  },
}
