import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAlone, type Siblings } from '../../src/base/siblings.ts'
import { Router } from '../../src/cluster/router.ts'
import { joinMetrics } from '../../src/observe/joined-metrics.ts'
import { createMetrics, renderCopy } from '../../src/observe/metrics.ts'
import { joinWorker } from '../support/siblings.ts'

async function open(siblings: Siblings) {
  const metrics = createMetrics()
  const joined = await joinMetrics(metrics, siblings)
  return {
    metrics,
    close: joined.close,
    revoke: () => {
      metrics.counter('cardea_sessions_revoked_total', { what: 'one' }).count += 1
    },
    /** The lines of the metrics whose names begin so. */
    async render(name: string): Promise<readonly string[]> {
      const { body } = renderCopy(await joined.read())
      return body.split('\n').filter((line) => line.startsWith(name))
    },
  }
}

async function start(router: Router) {
  const { siblings, member } = await joinWorker(router)
  member.setReady()
  return { ...(await open(siblings)), place: siblings.place, end: () => member.leave() }
}

const REVOKED = 'cardea_sessions_revoked_total'

test('whichever process is asked, it counts for all', async () => {
  const router = new Router(2)
  const [one, two] = [await start(router), await start(router)]
  one.revoke()
  two.revoke()
  two.revoke()
  for (const each of [one, two]) assert.deepEqual(await each.render(REVOKED), [`${REVOKED}{what="one"} 3`])
})

test('histograms of all processes become one', async () => {
  const router = new Router(2)
  const [one, two] = [await start(router), await start(router)]
  for (const { metrics } of [one, two]) metrics.histogram('cardea_hash_wait_seconds', {}).observe(0.002)
  const lines = await one.render('cardea_hash_wait_seconds')
  assert.deepEqual(lines.slice(0, 3), [
    'cardea_hash_wait_seconds_bucket{le="0.001"} 0',
    'cardea_hash_wait_seconds_bucket{le="0.0025"} 2',
    'cardea_hash_wait_seconds_bucket{le="0.005"} 2',
  ])
  assert.deepEqual(lines.slice(-2), ['cardea_hash_wait_seconds_sum 0.004', 'cardea_hash_wait_seconds_count 2'])
})

test('gauges are joined by the rule of their row', async () => {
  const router = new Router(2)
  const [one, two] = [await start(router), await start(router)]
  for (const [value, { metrics }] of [one, two].entries()) {
    metrics.collectValue('cardea_open_streams', () => value + 1)
    metrics.collectValue('cardea_store_staleness_seconds', () => value + 1)
    metrics.collectValue('process_max_fds', () => value + 1)
    metrics.collectValue('cardea_clock_skew_seconds', () => value + 1)
  }
  assert.deepEqual(await two.render('cardea_open_streams'), ['cardea_open_streams 3'])
  assert.deepEqual(await one.render('cardea_store_staleness_seconds'), ['cardea_store_staleness_seconds 2'])
  assert.deepEqual(await two.render('process_max_fds'), ['process_max_fds 1'])
  assert.deepEqual(await two.render('cardea_clock_skew_seconds'), ['cardea_clock_skew_seconds 2'])
})

test('what a client has seen stays when a process ends, and when the one that was asked ends too', async () => {
  const router = new Router(3)
  const [one, two, three] = [await start(router), await start(router), await start(router)]
  two.revoke()
  two.metrics.collectValue('cardea_open_streams', () => 5)
  await one.render(REVOKED)
  two.end()
  one.end()
  assert.deepEqual(await three.render(REVOKED), [`${REVOKED}{what="one"} 1`])
  assert.deepEqual(await three.render('cardea_open_streams'), [])
})

test('a process goes on with the counts of the one that had its place', async () => {
  const router = new Router(2)
  const [one, two] = [await start(router), await start(router)]
  one.revoke()
  two.revoke()
  await one.render(REVOKED)
  two.end()
  const three = await start(router)
  assert.equal(three.place, 2)
  three.revoke()
  assert.deepEqual(await three.render(REVOKED), [`${REVOKED}{what="one"} 3`])
  one.end()
  const four = await start(router)
  four.revoke()
  assert.deepEqual(await three.render(REVOKED), [`${REVOKED}{what="one"} 4`])
})

test('a process that leaves hands over what no client has seen', async () => {
  const router = new Router(2)
  const [one, two] = [await start(router), await start(router)]
  two.revoke()
  await two.close()
  two.end()
  assert.deepEqual(await one.render(REVOKED), [`${REVOKED}{what="one"} 1`])
})

test('a server of one process has its own metrics', async () => {
  const alone = await open(createAlone())
  alone.revoke()
  assert.deepEqual(await alone.render(REVOKED), [`${REVOKED}{what="one"} 1`])
})
