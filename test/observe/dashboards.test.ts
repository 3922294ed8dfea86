// The dashboard and the alert rules in deploy/ use metrics, labels and events that exist.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { SECURITY_EVENTS } from '../../src/modules.ts'
import { METRICS, type MetricRow } from '../../src/observe/metric-table.ts'
import { makeFolder } from '../support/scope.ts'

const ROOT = join(import.meta.dirname, '../..')
const ALERTS = join(ROOT, 'deploy/prometheus/alerts.yml')
const DASHBOARD = join(ROOT, 'deploy/grafana/cardea.json')

interface Dashboard {
  readonly panels: readonly { readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[] }[]
}

const targets = (JSON.parse(readFileSync(DASHBOARD, 'utf8')) as Dashboard).panels.flatMap(({ targets = [] }) => targets)

const EXPRESSIONS: Readonly<Record<string, readonly string[]>> = {
  'the dashboard': targets.map(({ expr }) => expr),
  'the alert rules': [...readFileSync(ALERTS, 'utf8').matchAll(/^ +expr: (.+)$/gm)].map(([, expr = '']) => expr),
}

const ROWS: Readonly<Record<string, MetricRow>> = METRICS

/** The metric that a name in an expression belongs to; `undefined`: none. */
function findMetric(name: string): MetricRow | undefined {
  const row = ROWS[name]
  if (row) return row.type === 'histogram' ? undefined : row
  const family = ROWS[name.replace(/_(bucket|sum|count)$/, '')]
  return family?.type === 'histogram' ? family : undefined
}

const METRIC = /\b((?:cardea|process|nodejs)_\w+)(?:\{([^}]*)\})?/g

/** Labels that Prometheus adds, and those of buckets. */
const ADDED = ['instance', 'job', 'le']

for (const [name, expressions] of Object.entries(EXPRESSIONS))
  describe(name, () => {
    test('uses metrics of the table, with their labels', () => {
      assert.ok(expressions.length >= 10)
      for (const expression of expressions)
        for (const [, metric = '', matchers = ''] of expression.matchAll(METRIC)) {
          const row = findMetric(metric)
          assert.ok(row, `${metric} in ${expression}`)
          const grouped = [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/, */))
          const matched = [...matchers.matchAll(/(\w+)=/g)].map(([, label = '']) => label)
          for (const label of [...grouped, ...matched])
            assert.ok(label in row.labels || ADDED.includes(label), `${label} of ${metric} in ${expression}`)
        }
    })

    test('names only events that exist', () => {
      for (const expression of expressions)
        for (const [, event = ''] of expression.matchAll(/event="([^"]*)"/g)) assert.ok(event in SECURITY_EVENTS, event)
    })
  })

test('the dashboard shows every metric of the table', () => {
  const used = targets.flatMap(({ expr }) => [...expr.matchAll(METRIC)].map(([, metric = '']) => metric))
  for (const [metric, { type }] of Object.entries(ROWS))
    assert.ok(used.includes(type === 'histogram' ? `${metric}_bucket` : metric), metric)
})

describe('promtool', () => {
  const hasPromtool = spawnSync('promtool', ['--version']).status === 0
  const skip = !hasPromtool && 'promtool is not installed'
  const run = (...args: readonly string[]) => {
    const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8' })
    assert.equal(status, 0, `${stdout}${stderr}`)
  }

  test('accepts the alert rules', { skip }, () => run('check', 'rules', ALERTS))

  test('accepts the expressions of the dashboard', { skip }, (t) => {
    const file = join(makeFolder(t), 'dashboard.yml')
    const rules = targets.map(({ expr }, index) => ({
      record: `panel:${index}`,
      expr: expr.replaceAll('$__rate_interval', '5m').replaceAll('$instance', '.*'),
    }))
    // JSON is YAML
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }))
    run('check', 'rules', file)
  })

  test('the alerts fire on what they describe', { skip }, (t) => {
    const file = join(makeFolder(t), 'test.yml')
    const node = 'instance="a"'
    const series: readonly (readonly [alert: string, series: string, values: string, isQuiet?: boolean])[] = [
      ['CardeaNotReady', `cardea_health{${node},state="failed"}`, '1x20'],
      ['CardeaWarning', `cardea_health{${node},state="warning"}`, '1x40'],
      ['CardeaUpstreamDown', `cardea_upstream_up{${node}}`, '0x20'],
      ['CardeaStoreStale', `cardea_store_staleness_seconds{${node}}`, '40x20'],
      ['CardeaAuditFailing', `cardea_audit_failing{${node}}`, '1x20'],
      ['CardeaAuditLost', `cardea_audit_lost_total{${node}}`, '0+5x20'],
      ['CardeaSecretsNotReloaded', `cardea_secret_reload_failed{${node}}`, '1x20'],
      ['CardeaHashQueueFull', `cardea_hash_refused_total{${node}}`, '0+5x20'],
      ['CardeaManyRefusedSignIns', `cardea_sign_ins_total{${node},outcome="refused"}`, '0+200x20'],
      ['CardeaServerErrors', `cardea_requests_total{${node},status="5xx"}`, '0+10x20'],
      ['CardeaServerErrors', `cardea_requests_total{${node},status="5xx",route="/_cardea/ready"}`, '0+10x20', true],
      ['CardeaCertificateExpires', `cardea_certificate_expiry_timestamp_seconds{${node}}`, '86400x20'],
    ]
    const tests = series.map(([alertname, name, values, isQuiet]) => ({
      interval: '1m',
      input_series: [{ series: name, values }],
      promql_expr_test: [
        {
          expr: `count(ALERTS{alertname="${alertname}",alertstate="firing"})`,
          eval_time: '15m',
          exp_samples: isQuiet ? [] : [{ value: 1 }],
        },
      ],
    }))
    writeFileSync(file, JSON.stringify({ rule_files: [ALERTS], tests }))
    run('test', 'rules', file)
  })
})
