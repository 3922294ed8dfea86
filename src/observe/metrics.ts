import { type Clock, MONOTONIC_CLOCK } from '../base/clock.ts'
import { HistogramCell, type RenderedSample } from './histogram-cell.ts'
import { type Labels, METRICS, type MetricName, type MetricOf, type MetricRow } from './metric-table.ts'

export interface CounterCell {
  count: number
}

/** The metrics of this server. Callers keep the cells, which are plain numbers: counting takes no lookup. */
export interface Metrics {
  /** The counter of these labels: callers keep it and raise `count`. */
  counter<N extends MetricOf<'counter'>>(name: N, labels: Labels<N>): CounterCell
  /** The histogram of these labels, to be kept too. */
  histogram<N extends MetricOf<'histogram'>>(name: N, labels: Labels<N>): HistogramCell
  /** Adds values that are read at each scrape. `read` must not throw. */
  collect<N extends MetricOf<'counter' | 'gauge'>>(
    name: N,
    read: () => Iterable<{ readonly labels: Labels<N>; readonly value: number }>,
  ): void
  /** The same for a metric without labels. `undefined`: the value is not known. */
  collectValue(name: MetricOf<'counter' | 'gauge'>, read: () => number | undefined): void
  /** The values of a metric now; of a histogram one for each bucket, with its upper bound as `le`. */
  read(name: MetricName): readonly RenderedSample[]
  /** All metrics in the text format of Prometheus. */
  render(): Promise<{ readonly contentType: string; readonly body: string }>
}

interface Family {
  readonly cells: Map<string, Cell>
  readonly readers: (() => Iterable<RenderedSample>)[]
}

interface Cell {
  readonly labels: Readonly<Record<string, string>>
  readonly cell: CounterCell | HistogramCell
}

export function createMetrics(): Metrics {
  const families = new Map<MetricName, Family>()
  const familyOf = (name: MetricName): Family => {
    const known = families.get(name) ?? { cells: new Map(), readers: [] }
    families.set(name, known)
    return known
  }
  const find = <C extends CounterCell | HistogramCell>(
    name: MetricName,
    labels: Cell['labels'],
    create: () => C,
  ): C => {
    const { cells } = familyOf(name)
    const key = JSON.stringify(Object.entries(labels))
    const found = cells.get(key) ?? { labels, cell: create() }
    cells.set(key, found)
    return found.cell as C // the cells of one family are of one kind
  }
  return {
    counter: (name, labels) => find(name, labels, () => ({ count: 0 })),
    histogram: (name, labels) => find(name, labels, () => new HistogramCell(METRICS[name].buckets)),
    collect: (name, read) => void familyOf(name).readers.push(read),
    collectValue(name, read) {
      familyOf(name).readers.push(() => {
        const value = read()
        return value === undefined ? [] : [{ labels: {}, value }]
      })
    },
    read: (name) => listSamples(familyOf(name), (cell, labels) => cell.toBuckets(labels)),
    async render() {
      const rows = Object.entries(METRICS) as [MetricName, MetricRow][]
      const parts = rows.map(([name, row]) => {
        const samples = listSamples(familyOf(name), (cell, labels) => cell.toSamples(name, labels))
        return renderFamily(name, row, samples)
      })
      return { contentType: CONTENT_TYPE, body: parts.join('\n') }
    },
  }
}

/** Renders at most once a second. For clients without a credential: rendering takes milliseconds of CPU time. */
export function renderOnceASecond({ render }: Metrics, clock: Clock = MONOTONIC_CLOCK): Metrics['render'] {
  let rendered: ReturnType<Metrics['render']> | undefined
  let renderedAtMs = 0
  return () => {
    if (rendered && clock.nowMs() - renderedAtMs < 1000) return rendered
    renderedAtMs = clock.nowMs()
    rendered = render()
    return rendered
  }
}

const listSamples = (
  { cells, readers }: Family,
  ofHistogram: (cell: HistogramCell, labels: Cell['labels']) => readonly RenderedSample[],
): readonly RenderedSample[] => [
  ...cells
    .values()
    .flatMap(({ labels, cell }) =>
      cell instanceof HistogramCell ? ofHistogram(cell, labels) : [{ labels, value: cell.count }],
    ),
  ...readers.flatMap((read) => [...read()]),
]

const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

function renderFamily(name: string, { type, help }: MetricRow, samples: readonly RenderedSample[]): string {
  const lines = samples.map(({ metricName = name, labels, value }) => {
    const pairs = Object.entries(labels).map(
      ([label, text]) => `${label}="${escapeText(String(text)).replaceAll('"', '\\"')}"`,
    )
    return `${metricName}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${value}\n`
  })
  return `# HELP ${name} ${escapeText(help)}\n# TYPE ${name} ${type}\n${lines.join('')}`
}

const escapeText = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
