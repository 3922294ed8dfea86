/** A value as it is rendered. */
export interface RenderedSample {
  /** Where it differs from the name of the metric. */
  readonly metricName?: string
  readonly labels: Readonly<Record<string, string | number>>
  readonly value: number
}

/** Counts values by bucket. */
export class HistogramCell {
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
