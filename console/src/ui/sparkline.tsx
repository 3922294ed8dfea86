const STEP = 3
const HEIGHT = 18

interface SparklineProps {
  readonly values: readonly number[]
  /** What it shows, for screen readers and on hover. */
  readonly label: string
}

/** A bar for each value, the highest as high as the line of text. */
export function Sparkline({ values, label }: SparklineProps) {
  const max = Math.max(...values, 1)
  const width = values.length * STEP
  const bars = values.map((value, at) => (value === 0 ? '' : toBar(at, Math.max((value / max) * HEIGHT, 2))))
  return (
    <svg class="sparkline" width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} role="img">
      <title>{label}</title>
      <path class="base" d={`M0 ${HEIGHT - 0.5}H${width}`} />
      <path d={bars.join('')} />
    </svg>
  )
}

const toBar = (at: number, height: number): string => `M${at * STEP + 1} ${HEIGHT}v${-height.toFixed(1)}`
