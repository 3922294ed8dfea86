import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { SYSTEM_CLOCK } from '../../src/base/clock.ts'
import { SILENT_LOG } from '../../src/base/log.ts'
import type { Store } from '../../src/directory/store-port/store.ts'
import { makeAuditKey, readSigningKey } from '../../src/observe/audit/audit-key.ts'
import { type AuditRecord, CHAIN_START, hashRecord, sealAll } from '../../src/observe/audit/audit-record.ts'
import type { AuditChain } from '../../src/observe/audit/audit-store.ts'
import { AuditTrail } from '../../src/observe/audit/audit-trail.ts'
import { readCheckpoint, signCheckpoint } from '../../src/observe/audit/checkpoint.ts'
import { Checkpoints } from '../../src/observe/audit/checkpoints.ts'
import type { DeliveryPace } from '../../src/observe/audit/delivery.ts'
import { ChainVerifier, type VerifyOptions } from '../../src/observe/audit/verify.ts'
import type { SecurityRecord } from '../../src/observe/security-record.ts'
import { openStore } from '../../src/store/create-store.ts'
import { reportTo } from '../support/audit-reports.ts'

const NODE = 'n@host'

const toRecord = (subject: string, time = 1): SecurityRecord => ({
  time,
  event: 'sign-out',
  outcome: 'success',
  node: NODE,
  fields: { subject, actor: subject, door: 'document', count: 3 },
})

const openMemory = async (t: TestContext): Promise<Store> => {
  const store = await openStore('sqlite::memory:', { log: SILENT_LOG })
  t.after(() => store.close())
  return store
}

interface TrailOptions {
  readonly reported?: string[]
  readonly pace?: Partial<DeliveryPace>
}

function openTrail(store: Store, { reported = [], pace }: TrailOptions = {}) {
  const base = { node: () => NODE, store, clock: SYSTEM_CLOCK, events: reportTo(reported), log: SILENT_LOG }
  const checkpoints = new Checkpoints({ ...base, key: undefined, keyFile: '' })
  const trail = new AuditTrail({ ...base, checkpoints, pace: { lingerMs: 1, ...pace } })
  const { delivery } = trail
  return {
    append: (record: SecurityRecord) => delivery.add(record),
    onRecord: (listener: (record: AuditRecord) => void) => trail.onRecord(listener),
    flush: () => delivery.flush(),
    figures: () => delivery.figures(),
    close: () => delivery.close(),
  }
}

const list = (store: Store) => store.listAuditRecords({ order: 'oldest', limit: 1000 })

const subjectsOf = (records: readonly AuditRecord[]) => records.map(({ fields }) => fields['subject'])

describe('audit trail', () => {
  it('writes records in order, each with the hash of the one before', async (t) => {
    const store = await openMemory(t)
    const trail = openTrail(store)
    const seen: AuditRecord[] = []
    trail.onRecord((record) => seen.push(record))
    for (const name of ['a', 'b', 'c']) trail.append(toRecord(name))
    await trail.flush()
    const records = await list(store)
    assert.deepEqual(
      records.map(({ sequence }) => sequence),
      [1, 2, 3],
    )
    assert.deepEqual(
      records.map(({ previous }) => previous),
      ['', records[0]?.hash, records[1]?.hash],
    )
    for (const record of records) assert.equal(record.hash, hashRecord(record))
    assert.deepEqual(seen, records)
  })

  it('lets requests have their turn between two batches', async (t) => {
    const store = await openMemory(t)
    const trail = openTrail(store)
    for (let i = 0; i < 1000; i += 1) trail.append(toRecord(`user-${i}`))
    let turns = 0
    const request = setInterval(() => {
      turns += 1
    })
    t.after(() => clearInterval(request))
    await trail.flush()
    assert.ok(turns >= 2, `${turns} turns`)
    assert.equal((await list(store)).length, 1000)
  })

  it('writes soon without being asked', async (t) => {
    const store = await openMemory(t)
    const trail = openTrail(store)
    const { promise, resolve } = Promise.withResolvers<AuditRecord>()
    trail.onRecord(resolve)
    trail.append(toRecord('a'))
    const keepAlive = setTimeout(() => {}, 60_000)
    assert.equal((await promise).sequence, 1)
    clearTimeout(keepAlive)
  })

  it('continues the chain of an earlier process', async (t) => {
    const store = await openMemory(t)
    for (const name of ['a', 'b']) {
      const trail = openTrail(store)
      trail.append(toRecord(name))
      await trail.close()
    }
    const [first, second] = await list(store)
    assert.equal(second?.sequence, 2)
    assert.equal(second?.previous, first?.hash)
  })

  it('shares a chain with another process of the same node name', async (t) => {
    const store = await openMemory(t)
    const [one, two] = [openTrail(store), openTrail(store)]
    for (const name of ['a', 'b', 'c']) {
      one.append(toRecord(`1${name}`))
      two.append(toRecord(`2${name}`))
      await Promise.all([one.flush(), two.flush()])
    }
    const records = await list(store)
    assert.equal(records.length, 6)
    assert.deepEqual(verify(records, await chainOf(store)).findings, [])
  })

  it('keeps records while the store fails, and delivers them to the other destinations', async (t) => {
    const store = await openMemory(t)
    let isFailing = true
    const flaky: Store = {
      ...store,
      appendAudit: async (append) => {
        if (isFailing) throw new Error('disk full')
        return store.appendAudit(append)
      },
    }
    const reported: string[] = []
    const seen: AuditRecord[] = []
    const trail = openTrail(flaky, { reported })
    trail.onRecord((record) => seen.push(record))
    trail.append(toRecord('a'))
    await assert.rejects(trail.flush(), /disk full/)
    trail.append(toRecord('b'))
    await assert.rejects(trail.flush(), /disk full/)
    assert.equal(trail.figures().problem, 'disk full')
    assert.deepEqual(subjectsOf(seen), ['a', 'b'])
    isFailing = false
    await trail.flush()
    assert.deepEqual(subjectsOf(await list(store)), ['a', 'b'])
    assert.deepEqual(subjectsOf(seen), ['a', 'b'])
    assert.deepEqual(reported, ['failed: disk full', 'recovered'])
    assert.equal(trail.figures().problem, undefined)
  })

  it('holds a bounded number of records, and reports how many it lost', async (t) => {
    const store = await openMemory(t)
    const reported: string[] = []
    const trail = openTrail(store, { pace: { maxWaiting: 10 }, reported })
    for (let at = 0; at < 25; at += 1) trail.append(toRecord(`u${at}`))
    assert.deepEqual(trail.figures(), { waiting: 10, lost: 15, problem: undefined })
    await trail.flush()
    assert.deepEqual(reported, ['lost 15'])
    assert.equal((await list(store)).length, 10)
    assert.deepEqual(verify(await list(store), await chainOf(store)).findings, [])
  })
})

const chainOf = async (store: Store): Promise<AuditChain> => {
  const chain = await store.findAuditChain(NODE)
  assert.ok(chain)
  return chain
}

function verify(records: readonly AuditRecord[], chain: AuditChain, options: VerifyOptions = { keys: [] }) {
  const verifier = new ChainVerifier(chain, options)
  for (const record of records) verifier.add(record)
  return verifier.end()
}

const KEY = readSigningKey(makeAuditKey())
const OTHER_KEY = readSigningKey(makeAuditKey())

const RECORDS = sealAll(
  ['a', 'b', 'c', 'd', 'e'].map((name) => toRecord(name)),
  CHAIN_START,
)

const at = (index: number): AuditRecord => {
  const record = RECORDS[index]
  assert.ok(record)
  return record
}

const toChain = (last: AuditRecord = at(4), key = KEY): AuditChain => {
  const { sequence, hash } = last
  const chain = { node: NODE, sequence, hash, purged: CHAIN_START }
  return { ...chain, checkpoint: signCheckpoint({ ...chain, time: 1 }, key) }
}

type Tampering = readonly [what: string, records: readonly AuditRecord[], chain: AuditChain, found: readonly string[]]

const replaced = (index: number, change: Partial<AuditRecord>): AuditRecord[] =>
  RECORDS.map((record, each) => (each === index ? { ...record, ...change } : record))

const rewritten = sealAll(
  ['a', 'x', 'c', 'd', 'e'].map((name) => toRecord(name)),
  CHAIN_START,
)

const swapped = [at(0), { ...at(2), sequence: 2 }, { ...at(1), sequence: 3 }, at(3), at(4)]

const TAMPERINGS: readonly Tampering[] = [
  ['nothing', RECORDS, toChain(), []],
  ['a field', replaced(1, { fields: { ...at(1).fields, count: 4 } }), toChain(), ['altered']],
  ['a personal field', replaced(1, { fields: { ...at(1).fields, subject: 'x' } }), toChain(), ['altered']],
  ['the time', replaced(1, { time: 2 }), toChain(), ['altered']],
  ['an added field', replaced(1, { fields: { ...at(1).fields, more: 'x' } }), toChain(), ['altered']],
  ['a removed record', RECORDS.toSpliced(2, 1), toChain(), ['missing']],
  ['the first record', RECORDS.slice(1), toChain(), ['missing']],
  ['two swapped records', swapped, toChain(), ['reordered', 'reordered', 'reordered']],
  ['a truncated end', RECORDS.slice(0, 3), toChain(), ['truncated']],
  [
    'a truncated end, with the row of the chain changed',
    RECORDS.slice(0, 3),
    { ...toChain(), ...place(at(2)) },
    ['truncated'],
  ],
  ['a chain that was written again', rewritten, { ...toChain(), hash: rewritten[4]?.hash ?? '' }, ['altered']],
  ['everything', [], toChain(), ['truncated']],
  [
    'a beginning that was not deleted because of its age',
    RECORDS.slice(2),
    { ...toChain(), purged: place(at(1)) },
    ['missing', 'missing'],
  ],
  ['a checkpoint of another key', RECORDS, toChain(at(4), OTHER_KEY), ['checkpoint']],
  ['a damaged checkpoint', RECORDS, { ...toChain(), checkpoint: '{}' }, ['checkpoint']],
]

function place({ sequence, hash }: AuditRecord) {
  return { sequence, hash }
}

describe('verification of the audit trail', () => {
  for (const [what, records, chain, found] of TAMPERINGS)
    it(`finds ${what}`, () => {
      const { findings } = verify(records, chain, { keys: [KEY] })
      assert.deepEqual(
        findings.map(({ kind }) => kind),
        found,
        JSON.stringify(findings),
      )
    })

  it('finds a truncated end with an older checkpoint in the store by the one beside the key', () => {
    const records = RECORDS.slice(0, 3)
    const chain = toChain(at(2))
    assert.deepEqual(verify(records, chain, { keys: [KEY] }).findings, [])
    const checkpoint = readCheckpoint(toChain().checkpoint ?? '')
    const local = { node: NODE, files: [{ path: '', checkpoint, problem: undefined }], missing: undefined }
    const { findings } = verify(records, chain, { keys: [KEY], local })
    assert.deepEqual(
      findings.map(({ message }) => message),
      ['records 4 to 5 are missing at the end'],
    )
  })

  it('accepts a beginning that was deleted because of its age', () => {
    const chain = { node: NODE, ...place(at(4)), purged: place(at(1)) }
    const checkpoint = signCheckpoint({ ...chain, time: 1 }, KEY)
    const result = verify(RECORDS.slice(2), { ...chain, checkpoint }, { keys: [KEY] })
    assert.deepEqual(result, { node: NODE, records: 3, first: 3, last: 5, signedTo: 5, hasFile: false, findings: [] })
  })
})
