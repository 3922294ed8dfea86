import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { SYSTEM_CLOCK } from '../../src/base/clock.ts'
import { type AuditSigningKey, makeAuditKey, readSigningKey } from '../../src/observe/audit/audit-key.ts'
import {
  type AuditPlace,
  changeAudit as change,
  AUDIT_KEY as KEY,
  makeAuditPlace as makePlace,
  runAuditNode as run,
  verifyAudit as verify,
  withKeyFile,
} from '../support/audit-node.ts'
import { waitUntil } from '../support/wait.ts'

const OTHER_KEY = readSigningKey(makeAuditKey())

const CUT = `DELETE FROM cardea_audit WHERE sequence > 2;
  UPDATE cardea_audit_chains SET sequence = 2, checkpoint = NULL,
    hash = (SELECT hash FROM cardea_audit WHERE sequence = 2)`

type Tampering = readonly [what: string, sql: string, found: RegExp]

const TAMPERINGS: readonly Tampering[] = [
  [
    'all records removed',
    'DELETE FROM cardea_audit; DELETE FROM cardea_audit_chains',
    /^truncated: records 1 to 4 are/,
  ],
  ['a row that is not JSON', `UPDATE cardea_audit SET fields = '{oops' WHERE sequence = 2`, /^altered: record 2 /],
  [
    'salts that are not texts',
    `UPDATE cardea_audit SET salts = '{"peer":5}' WHERE sequence = 2`,
    /^altered: record 2 /,
  ],
  ['salts that are no object', `UPDATE cardea_audit SET salts = 'null' WHERE sequence = 2`, /^altered: record 2 /],
  [
    'a field written twice',
    `UPDATE cardea_audit SET fields = '{"count":9,' || substr(fields, 2) WHERE sequence = 2`,
    /^altered: record 2 /,
  ],
  [
    'a name that only the list shows',
    `UPDATE cardea_audit SET fields = '{"subject":"b",' || substr(fields, 2), subject = 'x' WHERE sequence = 2`,
    /^altered: record 2 /,
  ],
  ['an outcome', `UPDATE cardea_audit SET outcome = 'unknown' WHERE sequence = 2`, /^altered: record 2 /],
  [
    'an added personal field',
    `UPDATE cardea_audit SET fields = '{"token":"x",' || substr(fields, 2) WHERE sequence = 2`,
    /^altered: record 2 /,
  ],
]

describe('tampering with a stored audit trail', () => {
  for (const [what, sql, found] of TAMPERINGS)
    it(`finds ${what}`, async (t) => {
      const place = makePlace(t)
      const node = await run(place)
      await node.write('a', 'b', 'c', 'd')
      await node.stop()
      assert.deepEqual(await verify(place), [])
      change(place, sql)
      assert.match((await verify(place)).at(-1) ?? '', found)
    })

  it('finds a checkpoint file that is missing or damaged, and records it at the next start', async (t) => {
    const place = makePlace(t)
    const node = await run(place)
    await node.write('a')
    await node.stop()
    writeFileSync(place.checkpoint, 'x')
    assert.match((await verify(place)).join(), /^checkpoint: .*\.checkpoint is damaged$/)
    rmSync(place.checkpoint)
    assert.match((await verify(place)).join(), /^checkpoint: .*\.checkpoint is missing or cannot be read$/)
    const next = await run(place)
    await next.write('b')
    await next.stop()
    assert.match(next.reported.join(), /is missing or cannot be read$/)
  })

  it('records that the key was replaced', async (t) => {
    const place = makePlace(t)
    const node = await run(place)
    await node.write('a')
    await node.stop()
    const next = await run(place, OTHER_KEY)
    await next.write('b')
    await next.stop()
    assert.deepEqual(next.reported, [`it was signed with the key ${KEY.id}; the key is now ${OTHER_KEY.id}`])
    assert.deepEqual(await verify(place, [OTHER_KEY]), [])
    assert.match((await verify(place)).join(), /^checkpoint: .* is not given/)
  })
})

describe('a node whose audit trail was replaced', () => {
  const REMOVED = 'DELETE FROM cardea_audit; DELETE FROM cardea_audit_chains'
  const FORGED = `INSERT INTO cardea_audit SELECT node, 5, time_ms, event, outcome, actor, subject, fields, salts, erased,
      hash, 'forged' FROM cardea_audit WHERE sequence = 4;
    UPDATE cardea_audit_chains SET sequence = 5, hash = 'forged'`
  const rows: readonly (readonly [what: string, sql: string, reason: string, found: RegExp])[] = [
    ['its end was cut', CUT, 'the store ends before the last checkpoint', /missing: records 3 to 4 are missing/],
    ['all was removed', REMOVED, 'the store ends before the last checkpoint', /missing: records 1 to 4 are missing/],
    ['a record was added', FORGED, 'the store has another end, which this node did not sign', /altered: record 5 /],
  ]
  for (const isRunning of [true, false])
    for (const [what, sql, reason, found] of rows)
      it(`does not hide that ${what} while it was ${isRunning ? 'running' : 'stopped'}`, async (t) => {
        const place = makePlace(t)
        const first = await run(place)
        await first.write('a', 'b', 'c', 'd')
        if (!isRunning) await first.stop()
        change(place, sql)
        const next = isRunning ? first : await run(place)
        await next.write('e', 'f')
        await next.write('g')
        await next.stop()
        assert.deepEqual(next.reported, [reason])
        assert.match((await verify(place)).join('\n'), found)
      })

  for (const isSameKey of [true, false])
    it(`does not sign a chain that was written elsewhere with ${isSameKey ? 'its own' : 'another'} key`, async (t) => {
      const [place, elsewhere] = [makePlace(t), makePlace(t)]
      for (const [at, key] of [
        [place, KEY],
        [elsewhere, isSameKey ? KEY : OTHER_KEY],
      ] as const) {
        const node = await run(at, key)
        await node.write('a', 'b')
        if (at === elsewhere) await node.write('c')
        await node.stop()
      }
      copyFileSync(elsewhere.database, place.database)
      const next = await run(place)
      await next.write('d')
      await next.stop()
      const reason = isSameKey
        ? 'the store has another record at the last checkpoint'
        : 'the store has another end, which this node did not sign'
      assert.deepEqual(next.reported, [reason])
      assert.match((await verify(place)).join('\n'), /^reordered: record 4 was not written after record 3/)
    })

  it('does not delete old records, nor sign, before it has compared the end', async (t) => {
    const place = makePlace(t)
    const node = await run(place)
    await node.write('a', 'b', 'c', 'd')
    change(place, CUT)
    assert.equal(await node.trail.purge(SYSTEM_CLOCK.nowMs() + 1000), 0)
    await node.stop()
    assert.match((await verify(place)).join('\n'), /truncated: records 3 to 4 are missing/)
  })
})

describe('tampering with erased records', () => {
  const [P1, P2] = ['erased-000000000001', 'erased-000000000002']

  async function makeErased(t: TestContext, key: AuditSigningKey): Promise<AuditPlace> {
    const place = makePlace(t)
    const node = await run(place)
    await node.write('ada', 'bob', 'eve')
    await node.erase('ada', P1, key)
    await node.erase('bob', P2, key)
    await node.stop()
    return place
  }

  it('accepts an erasure that was signed', async (t) => {
    assert.deepEqual(await verify(await makeErased(t, KEY)), [])
  })

  it('finds an erasure that was signed with another key', async (t) => {
    const found = await verify(await makeErased(t, OTHER_KEY))
    assert.equal(found.length, 6)
    assert.match(found[0] ?? '', /^erased: record 1: \w+ was erased with the key/)
  })

  const rows: readonly (readonly [what: string, sql: string, found: RegExp])[] = [
    [
      'an address in place of an erased one',
      `UPDATE cardea_audit SET fields = replace(fields, '(erased)', '6.6.6.6') WHERE sequence = 1`,
      /^erased: record 1: peer is not a value that an erasure writes$/,
    ],
    [
      'swapped pseudonyms',
      `UPDATE cardea_audit SET actor = '${P2}', subject = '${P2}' WHERE sequence = 1;
       UPDATE cardea_audit SET actor = '${P1}', subject = '${P1}' WHERE sequence = 2`,
      /^erased: record 1: actor was erased with a wrong signature\nerased: record 1: subject/,
    ],
    [
      'a removed signature',
      `UPDATE cardea_audit SET erased = json_remove(erased, '$.peer.mark') WHERE sequence = 1`,
      /^erased: record 1: peer was erased without a signature$/,
    ],
  ]
  for (const [what, sql, found] of rows)
    it(`finds ${what}`, async (t) => {
      const place = await makeErased(t, KEY)
      change(place, sql)
      assert.match((await verify(place)).join('\n'), found)
    })
})

describe('a checkpoint file that cannot be written', () => {
  it('is reported once, and written as soon as it can be', async (t) => {
    const place = makePlace(t)
    const folder = join(place.database, '..', 'later')
    const later = withKeyFile(place, join(folder, 'audit.pem'))
    const node = await run(later)
    await node.write('a')
    await waitUntil(() => node.reported.length > 0)
    await node.write('b')
    mkdirSync(folder)
    await node.write('c')
    await node.stop()
    assert.match(node.reported.join('\n'), /^failed: ENOENT.*\nrecovered$/)
    assert.deepEqual(await verify(later), [])
  })
})
