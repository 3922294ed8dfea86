// The heap of one node over the run. It is flat if the lowest value late in the run is near the lowest value early on.
import { basic } from './ask.ts'
import { ADMIN } from './testbed.ts'

const SAMPLE_MS = 1000
/** Shorter runs only warm up. */
const MIN_JUDGED_MS = 60_000
const MAX_GROWTH = 1.25
const NOISE_BYTES = 20_000_000

export function watchMemory(node) {
  const samples: { readonly at: number; readonly heapBytes: number }[] = []
  const startedAt = Date.now()
  const sample = async () => {
    const heapBytes = await readHeap(node)
    if (heapBytes !== undefined) samples.push({ at: Date.now() - startedAt, heapBytes })
  }
  const timer = setInterval(() => void sample(), SAMPLE_MS)
  return () => {
    clearInterval(timer)
    return judge(samples)
  }
}

async function readHeap({ document }) {
  try {
    const response = await fetch(`${document}/_cardea/metrics`, {
      headers: { Authorization: basic(ADMIN) },
      signal: AbortSignal.timeout(5000),
    })
    const [, value] = /^nodejs_heap_size_used_bytes (\S+)$/m.exec(await response.text()) ?? []
    return value === undefined ? undefined : Number(value)
  } catch {
    return undefined
  }
}

/** The lowest values are those after a garbage collection. */
function judge(samples) {
  const lasted = samples.at(-1)?.at ?? 0
  const lowest = (from, to) =>
    Math.min(...samples.filter(({ at }) => at >= lasted * from && at <= lasted * to).map(({ heapBytes }) => heapBytes))
  const [early, late] = [lowest(0.2, 0.5), lowest(0.7, 1)]
  const isJudged = lasted >= MIN_JUDGED_MS
  return { early, late, isJudged, isFlat: !isJudged || late < early * MAX_GROWTH + NOISE_BYTES }
}
