import assert from 'node:assert/strict'
import { test } from 'node:test'
import { COMMON_FIELDS } from '../../scripts/events-page.ts'
import { renderSentence } from '../../src/cli/audit-list.ts'
import { SECURITY_EVENTS } from '../../src/modules.ts'
import { CHAIN_START, sealRecord, toShownRecord } from '../../src/observe/audit/audit-record.ts'
import { runForOrigin } from '../../src/observe/origin.ts'
import type { EventRow } from '../../src/observe/security-event-table.ts'
import { createSecurityEvents, toLogSink } from '../../src/observe/security-events.ts'
import { type SecurityRecord, toSafeText } from '../../src/observe/security-record.ts'

function createRecorder() {
  const clock = { now: 1_000_000, aheadMs: 0, nowMs: () => clock.now + clock.aheadMs }
  const records: SecurityRecord[] = []
  const events = createSecurityEvents({
    rows: SECURITY_EVENTS,
    node: () => 'n1',
    sinks: [(record) => records.push(record)],
    clock,
    monotonic: { nowMs: () => clock.now },
  })
  const refuseFrom = (peer: string, subject = 'jo') =>
    runForOrigin(
      () => ({ peer, door: 'document', request: 'r1' }),
      () => events.record('sign-in.refused', { subject, reason: 'wrong password' }),
    )
  const listCounts = () => records.map(({ fields }) => [fields['peer'], fields['count']])
  return { clock, records, events, refuseFrom, listCounts }
}

test('a record carries the request it happened in, also after waiting', async () => {
  const { events, records } = createRecorder()
  const origin = { actor: 'anna', peer: '192.0.2.1', door: 'document', handler: 'cookie', request: 'r7' }
  await runForOrigin(
    () => origin,
    async () => {
      await Promise.resolve()
      events.record('user.removed', { subject: 'jo' })
    },
  )
  assert.deepEqual(records, [
    { time: 1_000_000, event: 'user.removed', outcome: 'success', node: 'n1', fields: { ...origin, subject: 'jo' } },
  ])
})

test('fields given by the caller replace those of the request', () => {
  const { events, records } = createRecorder()
  runForOrigin(
    () => ({ handler: 'cookie', peer: '192.0.2.1' }),
    () => events.record('sign-in.accepted', { subject: 'jo', opened: 'session', handler: 'basic', actor: undefined }),
  )
  assert.deepEqual(records[0]?.fields, { handler: 'basic', peer: '192.0.2.1', subject: 'jo', opened: 'session' })
})

test('an event of the server names no request', () => {
  const { events, records } = createRecorder()
  runForOrigin(
    () => ({ actor: 'anna', peer: '192.0.2.1' }),
    () => events.record('store.lost', { reason: 'connection refused' }),
  )
  assert.deepEqual(records[0]?.fields, { reason: 'connection refused' })
})

test('repeated rejections of one peer become one record per minute with a count', () => {
  const { clock, refuseFrom, listCounts, events } = createRecorder()
  for (let guess = 0; guess < 50; guess += 1) refuseFrom('192.0.2.1')
  refuseFrom('192.0.2.2')
  assert.deepEqual(listCounts(), [
    ['192.0.2.1', undefined],
    ['192.0.2.2', undefined],
  ])
  clock.now += 60_000
  refuseFrom('192.0.2.1')
  assert.deepEqual(listCounts().slice(2), [['192.0.2.1', 50]])
  refuseFrom('192.0.2.1')
  events.flush()
  assert.deepEqual(listCounts().slice(3), [['192.0.2.1', 1]])
})

test('a minute lasts no longer because the clock was ahead when it began', () => {
  const { clock, refuseFrom, listCounts } = createRecorder()
  clock.aheadMs = 3_600_000
  refuseFrom('192.0.2.1')
  clock.aheadMs = 0
  clock.now += 60_000
  refuseFrom('192.0.2.1')
  assert.deepEqual(listCounts().slice(1), [['192.0.2.1', 1]])
})

test('addresses of one IPv6 network count as one peer', () => {
  const { refuseFrom, listCounts, events } = createRecorder()
  for (let host = 1; host <= 1500; host += 1) refuseFrom(`2001:db8:0:7::${host.toString(16)}`)
  refuseFrom('2001:db8:0:8::1')
  assert.deepEqual(listCounts(), [
    ['2001:db8:0:7::1', undefined],
    ['2001:db8:0:8::1', undefined],
  ])
  events.flush()
  assert.deepEqual(listCounts().slice(2), [['2001:db8:0:7::5dc', 1499]])
})

test('the count of a peer that stopped is written when its minute is over', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { clock, refuseFrom, listCounts } = createRecorder()
  refuseFrom('192.0.2.1')
  refuseFrom('192.0.2.1')
  for (let quarter = 0; quarter < 4; quarter += 1) {
    clock.now += 15_000
    t.mock.timers.tick(15_000)
  }
  assert.deepEqual(listCounts(), [
    ['192.0.2.1', undefined],
    ['192.0.2.1', 1],
  ])
})

test('rejections of ever new peers are bounded in memory and log', () => {
  const { refuseFrom, records, events } = createRecorder()
  for (let peer = 0; peer < 5000; peer += 1) refuseFrom(`2001:db8:0:${peer.toString(16)}::1`)
  events.flush()
  assert.equal(records.length, 1002)
  assert.equal(records.at(-1)?.fields['peer'], '(other peers)')
  assert.equal(records.at(-1)?.fields['count'], 3999)
})

test('rejections of one peer are counted for each name', () => {
  const { refuseFrom, records, events } = createRecorder()
  for (const name of ['alice', 'alice', 'bella', 'alice', 'alice', 'cindy', '(unknown name)', '(unknown name)'])
    refuseFrom('192.0.2.1', name)
  events.flush()
  const totals = new Map<unknown, number>()
  for (const { fields } of records)
    totals.set(fields['subject'], (totals.get(fields['subject']) ?? 0) + Number(fields['count'] ?? 1))
  assert.deepEqual(Object.fromEntries(totals), { alice: 4, bella: 1, cindy: 1, '(unknown name)': 2 })
})

test('of one peer, a hundred names are counted separately, and the others together', () => {
  const { refuseFrom, records, events } = createRecorder()
  for (let round = 0; round < 2; round += 1)
    for (let name = 0; name < 250; name += 1) refuseFrom('192.0.2.1', `user${name}`)
  refuseFrom('192.0.2.2', 'alice')
  events.flush()
  const named = records.filter(({ fields }) => fields['names'] === undefined)
  assert.equal(named.filter(({ fields }) => fields['count'] === 1).length, 100)
  assert.deepEqual(named.at(-1)?.fields['subject'], 'user99')
  assert.ok(named.some(({ fields }) => fields['subject'] === 'alice'))
  const [others, ...further] = records.filter(({ fields }) => fields['names'] !== undefined)
  assert.deepEqual(further, [])
  assert.equal(others?.fields['subject'], '(and 150 other names)')
  assert.deepEqual([others?.fields['names'], others?.fields['count']], [150, 299])
})

test('rejections of ever new names are bounded in memory and log, and every peer is still named', () => {
  const { refuseFrom, records, events } = createRecorder()
  for (let guess = 0; guess < 20_000; guess += 1) refuseFrom(`192.0.2.${guess % 200}`, `user${guess}`)
  for (let guess = 0; guess < 2000; guess += 1) refuseFrom('198.51.100.1', `user${guess}`)
  events.flush()
  assert.ok(records.length <= 2 * 1001, `${records.length} records`)
  assert.equal(new Set(records.map(({ fields }) => fields['peer'])).size, 201)
  const total = records.reduce((sum, { fields }) => sum + Number(fields['count'] ?? 1), 0)
  assert.equal(total, 22_000)
  assert.equal(records.at(-1)?.fields['subject'], '(and more than 1000 other names)')
})

const TEXTS: readonly (readonly [name: string, text: string, safe: string])[] = [
  ['plain text is unchanged', 'Jörg Müller', 'Jörg Müller'],
  ['a line break is escaped', 'jo\n2026 info sign-in accepted', 'jo\\u{a}2026 info sign-in accepted'],
  ['a terminal escape is escaped', '\u001b[2J', '\\u{1b}[2J'],
  ['right-to-left text is escaped', 'a\u202Eb', 'a\\u{202e}b'],
  ['a lone surrogate is escaped', 'a\uD800', 'a\\u{d800}'],
  ['256 bytes are unchanged', 'x'.repeat(256), 'x'.repeat(256)],
  ['a longer text is truncated', 'x'.repeat(257), `${'x'.repeat(253)}…`],
  ['truncation does not split a character', '€'.repeat(100), `${'€'.repeat(84)}…`],
]

for (const [name, text, safe] of TEXTS) {
  test(`text of clients: ${name}`, () => {
    assert.equal(toSafeText(text), safe)
    assert.ok(Buffer.byteLength(toSafeText(text)) <= 256)
  })
}

/** Names that the log or the audit trail writes itself. */
const OWN = ['level', 'time', 'msg', 'count', 'names', 'id', 'sequence', 'previous', 'hash']
const RESERVED = new Set([...Object.keys(COMMON_FIELDS), ...OWN])
const MAY_REPEAT = new Set(['count'])

test('no field of a row has the name of a field of the log or the audit trail', () => {
  const clashing = Object.entries<EventRow>(SECURITY_EVENTS).flatMap(([kind, { fields }]) =>
    Object.keys(fields)
      .filter((name) => RESERVED.has(name) && !MAY_REPEAT.has(name))
      .map((name) => `${kind}: ${name}`),
  )
  assert.deepEqual(clashing, [])
})

test('the log gets one line per record at the level of the row', () => {
  const lines: unknown[] = []
  const write = (level: string) => (message: string, fields?: object) => void lines.push([level, message, fields])
  const log = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
  const events = createSecurityEvents({ rows: SECURITY_EVENTS, node: () => 'n1', sinks: [toLogSink(log)] })
  events.record('administrator.created', { subject: 'anna' })
  const fields = { event: 'administrator.created', outcome: 'success', node: 'n1', subject: 'anna' }
  assert.deepEqual(lines, [['warn', 'administrator created', fields]])
})

test('the story of every event names only fields of that event', () => {
  for (const [kind, { story, fields }] of Object.entries<EventRow>(SECURITY_EVENTS))
    for (const [, name = ''] of story.matchAll(/\{(\w+)\}/g))
      assert.ok(name in fields || name === 'count', `${name} in the story of ${kind}`)
})

const SENTENCES: readonly (readonly [event: string, fields: object, sentence: string])[] = [
  [
    'grant.changed',
    { subject: 'jo', database: 'shop', access: 'ro', old: 'rw' },
    'The grant of jo on shop was changed from rw to ro',
  ],
  [
    'option.changed',
    { option: 'admin.user-admin-role', old: '', new: 'helpdesk' },
    'Option admin.user-admin-role was changed from nothing to helpdesk',
  ],
]

for (const [event, fields, sentence] of SENTENCES) {
  test(`a record as a sentence: ${event}`, () => {
    const record = { time: 0, event, outcome: 'success', node: 'n1', fields: { ...fields } } as const
    const shown = toShownRecord(sealRecord(record, CHAIN_START))
    assert.equal(renderSentence(shown), `1970-01-01T00:00:00.000Z  ${sentence}`)
  })
}
