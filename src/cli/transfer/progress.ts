/** `done` and `total` have the same unit, bytes or documents; `records` is shown as the count. */
export interface State {
  readonly done: number
  readonly total: number | undefined
  readonly records: number
}

export type Progress = ReturnType<typeof createProgress>

export interface Screen {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

const REDRAW_MS = 100
const LINE_MS = 5000
const BAR_CELLS = 24

/** On a terminal, one line that is redrawn; elsewhere a plain line every few seconds. `what` is such as `importing`. */
export function createProgress(what: string, screen: Screen = process.stderr, nowMs = () => performance.now()) {
  const isTerminal = screen.isTTY === true
  const startMs = nowMs()
  let drawnMs = isTerminal ? Number.NEGATIVE_INFINITY : startMs
  let isDrawn = false
  return {
    update(state: State): void {
      if (nowMs() - drawnMs < (isTerminal ? REDRAW_MS : LINE_MS)) return
      drawnMs = nowMs()
      const text = [what, ...renderProgress(state, drawnMs - startMs, isTerminal)].join('  ')
      screen.write(isTerminal ? `\r\x1b[K${text.slice(0, (screen.columns ?? 80) - 1)}` : `${text}\n`)
      isDrawn = isTerminal
    },
    /** Removes the bar, so that something else can be written. */
    clear(): void {
      if (isDrawn) screen.write('\r\x1b[K')
      isDrawn = false
      drawnMs = isTerminal ? Number.NEGATIVE_INFINITY : drawnMs
    },
  }
}

function renderProgress(state: State, elapsedMs: number, hasBar: boolean): readonly string[] {
  const { done, total, records } = state
  const share = total ? Math.min(done / total, 1) : undefined
  const perSecond = elapsedMs > 0 ? (records * 1000) / elapsedMs : 0
  const leftMs = share ? (elapsedMs / share) * (1 - share) : undefined
  return [
    ...(share === undefined ? [] : [...(hasBar ? [renderBar(share)] : []), `${Math.floor(share * 100)} %`]),
    `${renderCount(records)} records`,
    `${renderCount(perSecond)}/s`,
    ...(leftMs === undefined ? [] : [`${renderDuration(leftMs)} left`]),
  ]
}

function renderBar(share: number): string {
  const full = Math.floor(share * BAR_CELLS)
  return `[${'#'.repeat(full)}${'-'.repeat(BAR_CELLS - full)}]`
}

export const renderCount = (count: number): string => Math.round(count).toLocaleString('en-US')

export function renderDuration(ms: number): string {
  const seconds = Math.ceil(ms / 1000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
