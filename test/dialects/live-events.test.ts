import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SYSTEM_CLOCK } from '../../src/base/clock.ts'
import { createAlone } from '../../src/base/siblings.ts'
import { createLiveEvents, type LiveEventsDeps } from '../../src/dialects/admin-api/system/live-events.ts'
import type { AuditRecord } from '../../src/observe/audit/audit-record.ts'
import type { Counts } from '../../src/observe/record-totals.ts'
import { joinWorkers } from '../support/siblings.ts'
import { waitUntil } from '../support/wait.ts'

const RECORD: AuditRecord = {
  time: 1,
  event: 'sign-out',
  outcome: 'success',
  node: 'one',
  fields: {},
  sequence: 1,
  previous: '',
  hash: 'ab',
  salts: {},
  erased: {},
}

const NEVER_MS = 1_000_000

function create(options: Partial<LiveEventsDeps> = {}) {
  const counts: Record<string, number> = { 'signIns/document/cookie': 7 }
  const listeners = new Set<(record: AuditRecord) => void>()
  const revoked = new Set<() => void>()
  const add =
    <T>(set: Set<T>) =>
    (listener: T) => {
      set.add(listener)
      return () => void set.delete(listener)
    }
  const live = createLiveEvents({
    clock: SYSTEM_CLOCK,
    siblings: createAlone(),
    readCounts: async (): Promise<Counts> => ({ ...counts }),
    countLocked: () => 2,
    countFailingUpstreams: async () => 1,
    onRecord: add(listeners),
    onRevoked: add(revoked),
    everyMs: NEVER_MS,
    ...options,
  })
  let isValid = true
  let leave = () => {}
  const pieces = live
    .open({
      confirm: async () => assert.ok(isValid),
      onGone: (listener) => {
        leave = listener
      },
    })
    [Symbol.asyncIterator]()
  return {
    counts,
    listeners,
    next: async () => (await pieces.next()).value as string | undefined,
    append() {
      for (const listener of listeners) listener(RECORD)
    },
    revoke() {
      isValid = false
      for (const listener of revoked) listener()
    },
    leave: () => leave(),
  }
}

test('sends the counts first, then each audit record', async () => {
  const { next, append, leave } = create()
  assert.equal(await next(), ': open\n\n')
  assert.equal(await next(), 'event: counts\ndata: {"lockedAccounts":2,"failingUpstreams":1}\n\n')
  append()
  assert.match((await next()) ?? '', /^event: audit\ndata: \{"id":"one:1",.*\}\n\n$/)
  leave()
})

test('sends what happened since the last overview', async () => {
  const { next, counts, leave } = create({ everyMs: 5 })
  counts['signIns/document/cookie'] = 10
  counts['decision/0.001'] = 2
  for (let text = await next(); ; text = await next()) {
    if (!text?.startsWith('event: overview')) continue
    const { signIns, latencyMs } = JSON.parse(text.slice(text.indexOf('{')))
    assert.deepEqual([signIns, latencyMs], [3, { p50: 0.75, p95: 0.975 }])
    break
  }
  leave()
})

test('ends at once when the credential is revoked', async () => {
  const { next, revoke, leave } = create()
  await next()
  await next()
  const waiting = next()
  revoke()
  assert.equal(await waiting, undefined)
  leave()
})

test('drops the oldest events of a client that does not read, and says how many', async () => {
  const { next, append, leave } = create()
  await next()
  for (let count = 0; count < 600; count += 1) append()
  assert.equal(await next(), 'event: dropped\ndata: {"count":101}\n\n')
  assert.match((await next()) ?? '', /^event: audit/)
  leave()
})

test('listens to records only while a client follows', () => {
  const { listeners, leave } = create()
  assert.equal(listeners.size, 1)
  leave()
  assert.equal(listeners.size, 0)
})

test('sends the records of another process, which sends them only while a client follows here', async () => {
  const [one, two] = await joinWorkers(2)
  assert.ok(one && two)
  const records = new Set<(record: AuditRecord) => void>()
  const onRecord = (listener: (record: AuditRecord) => void) => {
    records.add(listener)
    return () => void records.delete(listener)
  }
  createLiveEvents({
    clock: SYSTEM_CLOCK,
    siblings: two.siblings,
    readCounts: async () => ({}),
    countLocked: () => 0,
    countFailingUpstreams: async () => 0,
    onRecord,
    onRevoked: () => () => {},
    everyMs: 20,
  })
  assert.equal(records.size, 0)
  const { next, leave } = create({ siblings: one.siblings })
  assert.equal(await next(), ': open\n\n')
  assert.equal(records.size, 1)
  for (const listener of records) listener({ ...RECORD, node: 'one/2' })
  const pieces = [await next(), await next()].join('')
  assert.match(pieces, /event: audit\ndata: \{"id":"one\/2:1"/)
  leave()
  await waitUntil(() => records.size === 0)
})
