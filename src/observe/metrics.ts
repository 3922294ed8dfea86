import { type Clock, MONOTONIC_CLOCK } from '../base/clock.ts'
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
  /** Every metric with the values that `read` and `render` have of it, to be added in another thread. */
  copy(): MetricsCopy
  /** From now on what other threads have counted is included. Values with the same labels become one. */
  setThreads(threads: ThreadMetrics): void
  /** All metrics in the text format of Prometheus. */
  render(): Promise<{ readonly contentType: string; readonly body: string }>
}

export type MetricsCopy = readonly {
  readonly name: MetricName
  readonly read: readonly RenderedSample[]
  readonly rendered: readonly RenderedSample[]
}[]

export interface ThreadMetrics {
  /** As they were last read. */
  list(): readonly MetricsCopy[]
  /** Reads them again. Called before metrics are rendered. */
  refresh(): Promise<void>
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
  const rows = Object.entries(METRICS) as [MetricName, MetricRow][]
  let threads: ThreadMetrics | undefined
  const read = (name: MetricName) => listSamples(familyOf(name), (cell, labels) => cell.toBuckets(labels))
  const render = (name: MetricName) => listSamples(familyOf(name), (cell, labels) => cell.toSamples(name, labels))
  const copy = (): MetricsCopy =>
    rows.flatMap(([name]) => (families.has(name) ? [{ name, read: read(name), rendered: render(name) }] : []))
  /** With the values of other threads. */
  const withOthers = (name: MetricName, form: 'read' | 'rendered', own: readonly RenderedSample[]) => {
    const others = threads?.list().flatMap((all) => all.filter((each) => each.name === name)) ?? []
    return others.length === 0 ? own : joinSamples(name, [...own, ...others.flatMap((each) => each[form])])
  }
  return {
    copy,
    setThreads: (added) => {
      threads = added
    },
    counter: (name, labels) => find(name, labels, () => ({ count: 0 })),
    histogram: (name, labels) => find(name, labels, () => new HistogramCell(METRICS[name].buckets)),
    collect: (name, read) => void familyOf(name).readers.push(read),
    collectValue(name, read) {
      familyOf(name).readers.push(() => {
        const value = read()
        return value === undefined ? [] : [{ labels: {}, value }]
      })
    },
    read: (name) => withOthers(name, 'read', read(name)),
    async render() {
      await threads?.refresh()
      const parts = rows.map(([name, row]) => renderFamily(name, row, withOthers(name, 'rendered', render(name))))
      return { contentType: CONTENT_TYPE, body: parts.join('\n') }
    },
  }
}

/** Renders at most once a second. For clients without a credential: rendering takes milliseconds of CPU time. */
export function renderOnceASecond(render: Metrics['render'], clock: Clock = MONOTONIC_CLOCK): Metrics['render'] {
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

function joinSamples(name: MetricName, samples: readonly RenderedSample[]): readonly RenderedSample[] {
  const { isLowestOfThreads }: MetricRow = METRICS[name]
  const join = isLowestOfThreads ? Math.min : (one: number, other: number) => one + other
  const joined = new Map<string, RenderedSample>()
  for (const sample of samples) {
    const key = JSON.stringify([sample.metricName, Object.entries(sample.labels)])
    const known = joined.get(key)
    joined.set(key, known ? { ...known, value: join(known.value, sample.value) } : sample)
  }
  return [...joined.values()]
}

/** What threads that have ended leave behind: counts, joined, and no gauges. */
export const keepCounts = (copies: readonly MetricsCopy[]): MetricsCopy =>
  [...Map.groupBy(copies.flat(), ({ name }) => name)]
    .filter(([name]) => METRICS[name].type !== 'gauge')
    .map(([name, all]) => {
      const join = (form: 'read' | 'rendered') => joinSamples(name, [...all.values().flatMap((each) => each[form])])
      return { name, read: join('read'), rendered: join('rendered') }
    })

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

/** A value as it is rendered. */
interface RenderedSample {
  /** Where it differs from the name of the metric. */
  readonly metricName?: string
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
}

/** Counts values by bucket. */
class HistogramCell {
  readonly #bounds: readonly number[]
  /** By bucket, not cumulative; the last one is for values above all bounds. */
  readonly #counts: Float64Array
  #sum = 0

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#counts = new Float64Array(bounds.length + 1)
  }

  observe(value: number): void {
    const bounds = this.#bounds
    let bucket = 0
    while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket += 1
    this.#counts[bucket] = (this.#counts[bucket] as number) + 1
    this.#sum += value
  }

  /** How many values each bucket has, with its upper bound as `le`. */
  toBuckets(labels: RenderedSample['labels']): readonly RenderedSample[] {
    return [...this.#bounds, '+Inf'].map((le, index) => ({
      labels: { ...labels, le },
      value: this.#counts[index] ?? 0,
    }))
  }

  toSamples(name: string, labels: RenderedSample['labels']): readonly RenderedSample[] {
    let count = 0
    const buckets = this.toBuckets(labels).map((bucket) => {
      count += bucket.value
      return { ...bucket, metricName: `${name}_bucket`, value: count }
    })
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels, value: this.#sum },
      { metricName: `${name}_count`, labels, value: count },
    ]
  }
}
