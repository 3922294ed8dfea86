import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFreshness } from '../../../src/modules/couchdb-users/follow.ts'
import { toPauses } from '../../../src/modules/couchdb-users/pages.ts'

test('the age of a copy follows no jump of the clock', (t) => {
  t.mock.method(performance, 'now', () => 2_000_000)
  const time = { nowMs: 5_000_000 }
  const toFreshAt = createFreshness({ nowMs: () => time.nowMs })
  assert.equal(toFreshAt(0), undefined)
  assert.equal(toFreshAt(4_000_000), 1_000_000)
  // later the clock is set back, then ahead
  for (const jumpMs of [-3_600_000, 7_200_000]) {
    time.nowMs += jumpMs
    assert.equal(toFreshAt(4_000_000), 1_000_000)
  }
  assert.equal(toFreshAt(time.nowMs), 2_000_000)
})

for (const maxStalenessMs of [1000, 2000, 3000, 60_000])
  test(`an idle feed is looked at often enough for a copy of at most ${maxStalenessMs} ms`, () => {
    const { waitMs, lookMs } = toPauses(maxStalenessMs)
    assert.ok(2 * waitMs + lookMs < 0.9 * maxStalenessMs)
    assert.ok(waitMs >= 300 && lookMs >= 100)
  })
