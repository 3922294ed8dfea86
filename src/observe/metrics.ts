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
  /** Collects a metric without labels. `undefined`: the value is not known. */
  collectValue(name: MetricOf<'counter' | 'gauge'>, read: () => number | undefined): void
  /** The values of a metric now; of a histogram one for each bucket, with its upper bound as `le`. */
  read(name: MetricName): readonly Sample[]
  /** These metrics with their values, as plain data that another process can be sent. */
  copy(names?: readonly MetricName[]): MetricsCopy
}

export type MetricsCopy = Readonly<Partial<Record<MetricName, readonly Sample[]>>>

interface Sample {
  readonly labels: Readonly<Record<string, string | number>>
  /** The sum of all values of a histogram. */
  readonly value: number
  /** How many values each bucket of a histogram has, not cumulative; the last one is for values above all bounds. */
  readonly buckets?: readonly number[]
}

interface Family {
  readonly cells: Map<string, Cell>
  readonly readers: (() => Iterable<Sample>)[]
}

interface Cell {
  readonly labels: Readonly<Record<string, string>>
  readonly cell: CounterCell | HistogramCell
}

// the keys of the table
export const METRIC_NAMES = Object.keys(METRICS) as readonly MetricName[]

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
  const copy = (names = METRIC_NAMES): MetricsCopy =>
    Object.fromEntries(names.flatMap((name) => (families.has(name) ? [[name, listSamples(familyOf(name))]] : [])))
  return {
    copy,
    counter: (name, labels) => find(name, labels, () => ({ count: 0 })),
    histogram: (name, labels) => find(name, labels, () => new HistogramCell(METRICS[name].buckets)),
    collect: (name, read) => void familyOf(name).readers.push(read),
    collectValue(name, read) {
      familyOf(name).readers.push(() => {
        const value = read()
        return value === undefined ? [] : [{ labels: {}, value }]
      })
    },
    read: (name) => readCopy(copy([name]), name),
  }
}

/** As `read` of the metrics that were copied. */
export const readCopy = (copy: MetricsCopy, name: MetricName): readonly Sample[] => {
  const { buckets: bounds = [] }: MetricRow = METRICS[name]
  return (copy[name] ?? []).flatMap((sample) => {
    const { labels, buckets } = sample
    return buckets ? buckets.map((value, at) => ({ labels: { ...labels, le: bounds[at] ?? '+Inf' }, value })) : [sample]
  })
}

/** Renders at most once a second. For clients without a credential: rendering takes milliseconds of CPU time. */
export function renderOnceASecond(render: RenderMetrics, clock: Clock = MONOTONIC_CLOCK): RenderMetrics {
  let rendered: ReturnType<RenderMetrics> | undefined
  let renderedAtMs = 0
  return () => {
    if (rendered && clock.nowMs() - renderedAtMs < 1000) return rendered
    renderedAtMs = clock.nowMs()
    rendered = render()
    return rendered
  }
}

const listSamples = ({ cells, readers }: Family): readonly Sample[] => [
  ...cells
    .values()
    .map(({ labels, cell }) =>
      cell instanceof HistogramCell ? { labels, ...cell.toValues() } : { labels, value: cell.count },
    ),
  ...readers.flatMap((read) => [...read()]),
]

type JoinValues = (one: number, other: number) => number

const JOIN: Readonly<Record<Exclude<NonNullable<MetricRow['joined']>, 'own'>, JoinValues>> = {
  sum: (one, other) => one + other,
  lowest: Math.min,
  highest: Math.max,
}

/** The values of several processes as those of one, by the rule of each metric. The first copy is that of this process. */
export const joinCopies = (copies: readonly MetricsCopy[]): MetricsCopy =>
  joinEach(copies, (name) => {
    const { joined = 'sum' }: MetricRow = METRICS[name]
    return joined === 'own' ? (copies[0]?.[name] ?? []) : joinSamples(name, copies, JOIN[joined])
  })

/** The higher value of each: of two copies of one process, counts are right in the later one. */
export const joinHighest = (copies: readonly MetricsCopy[]): MetricsCopy =>
  joinEach(copies, (name) => joinSamples(name, copies, Math.max))

const joinEach = (copies: readonly MetricsCopy[], join: (name: MetricName) => readonly Sample[]): MetricsCopy =>
  Object.fromEntries(METRIC_NAMES.filter((name) => copies.some((copy) => copy[name])).map((name) => [name, join(name)]))

function joinSamples(name: MetricName, copies: readonly MetricsCopy[], join: JoinValues): readonly Sample[] {
  const joined = new Map<string, Sample>()
  for (const sample of copies.flatMap((copy) => copy[name] ?? [])) {
    const key = JSON.stringify(Object.entries(sample.labels))
    const known = joined.get(key)
    joined.set(key, known ? joinPair(known, sample, join) : sample)
  }
  return [...joined.values()]
}

const joinPair = (one: Sample, other: Sample, join: JoinValues): Sample => ({
  labels: one.labels,
  value: join(one.value, other.value),
  ...(one.buckets && { buckets: one.buckets.map((count, at) => join(count, other.buckets?.[at] ?? 0)) }),
})

/** Without gauges: those of a process that has ended mean nothing. */
export const toCounts = (copy: MetricsCopy): MetricsCopy =>
  // the keys of a copy are names of metrics
  Object.fromEntries(Object.entries(copy).filter(([name]) => METRICS[name as MetricName].type !== 'gauge'))

/** The text format of Prometheus. */
export interface RenderedMetrics {
  readonly contentType: string
  readonly body: string
}

export type RenderMetrics = () => Promise<RenderedMetrics>

const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

export const renderCopy = (copy: MetricsCopy): RenderedMetrics => ({
  contentType: CONTENT_TYPE,
  body: METRIC_NAMES.map((name) => renderFamily(name, METRICS[name], copy[name] ?? [])).join('\n'),
})

function renderFamily(name: string, { type, help, buckets }: MetricRow, samples: readonly Sample[]): string {
  const lines = samples.flatMap((sample) =>
    buckets ? renderHistogram(name, sample, buckets) : renderLine(name, sample),
  )
  return `# HELP ${name} ${escapeText(help)}\n# TYPE ${name} ${type}\n${lines.join('')}`
}

function renderHistogram(name: string, { labels, value: sum, buckets = [] }: Sample, bounds: readonly number[]) {
  let count = 0
  const lines = buckets.map((size, at) => {
    count += size
    return renderLine(`${name}_bucket`, { labels: { ...labels, le: bounds[at] ?? '+Inf' }, value: count })
  })
  return [
    ...lines,
    renderLine(`${name}_sum`, { labels, value: sum }),
    renderLine(`${name}_count`, { labels, value: count }),
  ]
}

function renderLine(name: string, { labels, value }: Sample): string {
  const pairs = Object.entries(labels).map(
    ([label, text]) => `${label}="${escapeText(String(text)).replaceAll('"', '\\"')}"`,
  )
  return `${name}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${value}\n`
}

const escapeText = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')

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

  toValues(): Pick<Sample, 'value' | 'buckets'> {
    return { value: this.#sum, buckets: [...this.#counts] }
  }
}
