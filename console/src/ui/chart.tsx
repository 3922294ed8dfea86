// Lines over time. All charts of a page share their cursor.
import { useEffect, useRef, useState } from 'preact/hooks'
import type uPlot from 'uplot'
import { useResource } from '../api/use-resource.ts'
import { findTop, toCount, toShort } from '../numbers.ts'
import { shared } from '../texts.ts'
import { toMoment, toTick } from '../times.ts'
import { Card } from './parts.tsx'
import { Table } from './table.tsx'

export interface ChartLine {
  readonly label: string
  /** `null`: no value, shown as a gap. */
  readonly values: readonly (number | null)[]
}

export interface ChartProps {
  readonly title: string
  /** What one value means, for example "per minute". Left out where `format` names the unit. */
  readonly unit?: string
  readonly format?: (value: number) => string
  /** The time of the first value, in seconds since the epoch. */
  readonly from: number
  readonly stepSeconds: number
  /** At most four. */
  readonly lines: readonly ChartLine[]
  readonly isTable: boolean
  /** Times at which a server started, in seconds since the epoch. */
  readonly restarts?: readonly number[]
}

/** A file of its own: only charts need it, and a page shows its other parts first. */
const loadPlots = async () => (await import('uplot')).default

/** A table, too, where the library of the charts cannot be loaded. */
export function Chart(props: ChartProps) {
  const { title, unit } = props
  const library = useResource('uplot', loadPlots)
  const isTable = props.isTable || library.error !== undefined
  return (
    <Card title={title} actions={isTable ? <span class="quiet small">{unit}</span> : <Legend {...props} />}>
      {isTable ? <ChartTable {...props} /> : <Plot {...props} Library={library.data} />}
    </Card>
  )
}

const Legend = ({ lines, unit, restarts = [] }: ChartProps) => (
  <ul class="legend">
    {lines.map(({ label }, index) => (
      <li key={label}>
        <i class={`series-${index + 1}`} />
        {label}
      </li>
    ))}
    {restarts.length > 0 && (
      <li>
        <i class="restart" />
        {shared.chart.restart}
      </li>
    )}
    {unit && <li class="quiet">{unit}</li>}
  </ul>
)

const HEIGHT = 180
/** Between two lines of the grid: counts and milliseconds have no parts. */
const WHOLE_STEPS = Array.from({ length: 10 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat()
const DASHES = [[], [6, 3], [2, 3], [8, 3, 2, 3]]

interface PlotProps extends ChartProps {
  /** `undefined` while it is loading. */
  readonly Library: typeof uPlot | undefined
}

function Plot({ Library, ...props }: PlotProps) {
  const { title, from, stepSeconds, lines } = props
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  const theme = useThemeName()
  const shape = [...lines.map(({ label }) => label), ...(props.restarts ?? [])].join()
  const width = useWidth(place)
  useEffect(() => {
    if (!Library || !place.current || width === 0) return
    plot.current = new Library(toOptions(props, width), toData(props), place.current)
    return () => plot.current?.destroy()
  }, [Library, theme, shape, width])
  useEffect(() => plot.current?.setData(toData(props)), [from, stepSeconds, lines])
  return <div class="plot" ref={place} role="img" aria-label={`${title}. ${shared.chart.asTable}`} />
}

const toData = ({ from, stepSeconds, lines }: ChartProps): uPlot.AlignedData => {
  const count = lines[0]?.values.length ?? 0
  const times = Array.from({ length: count }, (_, index) => from + index * stepSeconds)
  return [times, ...lines.map(({ values }) => [...values])]
}

const keepNumbers = (values: Iterable<number | null | undefined>): readonly number[] =>
  [...values].filter((value) => typeof value === 'number')

function toOptions({ lines, format, restarts = [] }: ChartProps, width: number): uPlot.Options {
  const style = getComputedStyle(document.documentElement)
  const token = (name: string) => style.getPropertyValue(name).trim()
  const axis = {
    stroke: token('--n6'),
    font: `${token('--size-small')} ${token('--font')}`,
    grid: { stroke: token('--n3'), width: 1 },
    ticks: { show: false },
  }
  const number = (_: uPlot, values: number[]) => values.map(format ?? toShort)
  return {
    width,
    height: HEIGHT,
    padding: [12, 24, 0, 0],
    legend: { show: false },
    cursor: { sync: { key: 'cardea' }, drag: { x: false, y: false }, points: { size: 6 } },
    scales: { y: { range: ({ data: [, ...series] }) => [0, findTop(series.flatMap(keepNumbers))] } },
    axes: [
      { ...axis, size: 32, values: (_, times) => times.map(toTick) },
      { ...axis, size: 52, values: number, incrs: WHOLE_STEPS },
    ],
    series: [
      {},
      ...lines.map(({ label }, index) => ({
        label,
        stroke: token(`--series-${index + 1}`),
        width: 1.5,
        dash: DASHES[index] ?? [],
        points: { size: 6, show: true, filter: findIsolated },
      })),
    ],
    plugins: [tooltip(lines, format), markRestarts(restarts, token('--warning'))],
  }
}

/** A vertical line at each time. */
const markRestarts = (times: readonly number[], color: string): uPlot.Plugin => ({
  hooks: {
    draw({ ctx, bbox, valToPos, data: [shown] }) {
      ctx.save()
      ctx.strokeStyle = color
      ctx.setLineDash([4, 4])
      for (const time of times.filter((each) => each >= (shown[0] ?? 0))) {
        const x = Math.round(valToPos(time, 'x', true))
        ctx.beginPath()
        ctx.moveTo(x, bbox.top)
        ctx.lineTo(x, bbox.top + bbox.height)
        ctx.stroke()
      }
      ctx.restore()
    },
  },
})

/** The values under the cursor, as one line above the plot. */
function tooltip(lines: readonly ChartLine[], format: ChartProps['format']): uPlot.Plugin {
  const line = document.createElement('output')
  const update = ({ data, cursor: { idx } }: uPlot) => {
    const time = idx === undefined || idx === null ? undefined : data[0][idx]
    line.hidden = time === undefined
    if (time === undefined) return
    const values = lines.map(({ label }, index) => `${label} ${toValue(data[index + 1]?.[idx ?? 0], format)}`)
    line.textContent = [toMoment(time), ...values].join(' · ')
  }
  return {
    hooks: {
      init: ({ root }) => {
        line.className = 'readout'
        line.hidden = true
        root.append(line)
      },
      setCursor: update,
    },
  }
}

const toValue = (value: number | null | undefined, format = toCount): string =>
  value === null || value === undefined ? shared.chart.noValue : format(value)

function ChartTable({ title, from, stepSeconds, lines, format, restarts = [] }: ChartProps) {
  const rows = (lines[0]?.values ?? []).map((_, index) => index).reverse()
  const columns = [
    {
      label: shared.chart.time,
      render: (index: number) => {
        const begin = from + index * stepSeconds
        const isRestart = restarts.some((time) => time >= begin && time < begin + stepSeconds)
        return (
          <span class="exact">
            {toMoment(begin)} {isRestart && <span class="quiet">{shared.chart.restart}</span>}
          </span>
        )
      },
    },
    ...lines.map(({ label, values }) => ({
      label,
      kind: 'number' as const,
      render: (index: number) => toValue(values[index], format),
    })),
  ]
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section class="plot-table" aria-label={title} tabIndex={0}>
      <Table caption={title} columns={columns} rows={rows} keyOf={String} />
    </section>
  )
}

function useWidth(place: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(0)
  useEffect(() => {
    if (!place.current) return
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)))
    observer.observe(place.current)
    return () => observer.disconnect()
  }, [])
  return width
}

/** Changes when the theme does, because a canvas does not follow CSS. */
function useThemeName(): string | undefined {
  const root = document.documentElement
  const [theme, setTheme] = useState(root.dataset['theme'])
  useEffect(() => {
    const observer = new MutationObserver(() => setTheme(root.dataset['theme']))
    observer.observe(root, { attributeFilter: ['data-theme'] })
    return () => observer.disconnect()
  }, [])
  return theme
}

/** Values between two gaps: no line leads to them, so they are drawn as points. */
function findIsolated(chart: uPlot, seriesIndex: number): number[] {
  const values = chart.data[seriesIndex] ?? []
  const isGap = (at: number) => values[at] === null || values[at] === undefined
  return Array.from(values.keys()).filter((at) => !isGap(at) && isGap(at - 1) && isGap(at + 1))
}
