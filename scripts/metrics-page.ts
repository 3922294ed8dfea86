import { METRICS, type MetricRow } from '../src/observe/metric-table.ts'

/** docs/reference/metrics.md, from the table. */
export const renderMetricsPage = (): string => `${INTRODUCTION}
${renderTable(
  ['Metric', 'Type', 'Of several workers', 'Meaning'],
  Object.entries<MetricRow>(METRICS).map(([name, { type, help, joined = 'sum' }]) => [
    `\`${name}\``,
    type,
    joined === 'own' ? 'the one asked' : joined,
    help,
  ]),
)}
## Labels and buckets

${Object.entries<MetricRow>(METRICS).map(renderDetails).filter(Boolean).join('\n')}`

const INTRODUCTION = `<!-- Generated from src/observe/metric-table.ts. Change that file and run: npm run generate -->
# Metrics

Cardea exposes metrics in the text format of Prometheus.

| where | who may read them |
|---|---|
| \`/_cardea/metrics\` at both doors and at \`admin.endpoint\` | administrators, superuser tokens, and users with the role \`_metrics\`: Basic or a token, no cookie |
| \`/metrics\` and \`/_cardea/metrics\` at \`metrics.endpoint\` | every client that can reach this listener |

- No label holds a user name, an address of a client, or a path that a client chose.
- A node counts what it did itself since it started. Prometheus adds the nodes up.
- Whichever worker of a node (\`server.workers\`) serves the request, the metrics are those of all its workers. The third
  column says what becomes of their values. Counts of a worker that has ended are kept: after \`kill -9\` as they were
  when metrics were last read, otherwise complete.
- The figures of the process are those of the workers; the process that supervises them is not included. Memory that
  workers share counts once for each.
- The metrics of this page, a dashboard and alerts for them: [Monitor](../guides/monitor.md).

## Overview
`

function renderDetails([name, { labels, buckets }]: [string, MetricRow]): string {
  const rows = Object.entries(labels).map(([label, meaning]) => [`\`${label}\``, meaning])
  if (rows.length === 0 && !buckets) return ''
  const table = rows.length > 0 ? `\n${renderTable(['Label', 'Meaning'], rows)}` : ''
  return `### ${name}\n${table}${buckets ? `\nBuckets, in seconds: ${buckets.join(', ')}.\n` : ''}`
}

/** A table in Markdown. */
export const renderTable = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |\n`).join('')
