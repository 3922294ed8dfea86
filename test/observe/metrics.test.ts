import assert from 'node:assert/strict'
import { test } from 'node:test'
import { METRICS } from '../../src/observe/metric-table.ts'
import { createMetrics, renderCopy } from '../../src/observe/metrics.ts'

/** The lines of one metric in the text format. */
const linesOf = (body: string, name: string): readonly string[] =>
  body
    .split('\n\n')
    .find((family) => family.startsWith(`# HELP ${name} `))
    ?.trimEnd()
    .split('\n') ?? []

test('every metric has its help and type, values or not', () => {
  const { contentType, body } = renderCopy(createMetrics().copy())
  assert.equal(contentType, 'text/plain; version=0.0.4; charset=utf-8')
  const families = Object.entries(METRICS).map(
    ([name, { help, type }]) => `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`,
  )
  assert.equal(body, families.join('\n'))
})

test('counters are printed by labels, which are escaped', () => {
  const metrics = createMetrics()
  metrics.counter('cardea_limits_reached_total', { limit: 'peer' }).count += 2
  metrics.counter('cardea_limits_reached_total', { limit: 'a"b\\c\nd' }).count += 0.5
  const { body } = renderCopy(metrics.copy())
  assert.deepEqual(linesOf(body, 'cardea_limits_reached_total').slice(2), [
    'cardea_limits_reached_total{limit="peer"} 2',
    'cardea_limits_reached_total{limit="a\\"b\\\\c\\nd"} 0.5',
  ])
})

test('values that are read at a scrape are printed without labels if they have none', () => {
  const metrics = createMetrics()
  metrics.collect('process_start_time_seconds', () => [{ labels: {}, value: 1e21 }])
  const { body } = renderCopy(metrics.copy())
  assert.deepEqual(linesOf(body, 'process_start_time_seconds').slice(2), ['process_start_time_seconds 1e+21'])
})

test('histograms have cumulative buckets, sum and count', () => {
  const metrics = createMetrics()
  const name = 'cardea_upstream_seconds'
  const cell = metrics.histogram(name, { door: 'document' })
  for (const value of [0.5, 0.5, 1e6]) cell.observe(value)
  const lines = linesOf(renderCopy(metrics.copy()).body, name).slice(2)
  const text = 'door="document"'
  assert.equal(lines[0], `${name}_bucket{${text},le="${METRICS[name].buckets[0]}"} 0`)
  assert.deepEqual(lines.slice(-4), [
    `${name}_bucket{${text},le="${METRICS[name].buckets.at(-1)}"} 2`,
    `${name}_bucket{${text},le="+Inf"} 3`,
    `${name}_sum{${text}} 1000001`,
    `${name}_count{${text}} 3`,
  ])
})
