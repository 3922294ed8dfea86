import { monitorEventLoopDelay } from 'node:perf_hooks'
import { countOpenFiles, findOpenFileLimit } from '../base/node-internals/open-files.ts'
import type { Metrics } from './metrics.ts'

const RESOLUTION_MS = 20
const NANOSECONDS = 1e9

/** Adds the figures of the process. Returns a function that stops measuring. */
export function addProcessMetrics(metrics: Metrics): () => void {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  metrics.collect('cardea_event_loop_delay_seconds', () => {
    // the timer itself takes its resolution, which is no delay
    const toSeconds = (nanoseconds: number) => Math.max(nanoseconds / NANOSECONDS - RESOLUTION_MS / 1000, 0)
    const samples = [50, 99, 100].map((percentile) => ({
      labels: { percentile: String(percentile) },
      value: toSeconds(delay.count === 0 ? 0 : delay.percentile(percentile)),
    }))
    delay.reset()
    // from the first scrape on: a server that is not scraped needs no timer
    delay.enable()
    return samples
  })
  metrics.collectValue('process_resident_memory_bytes', process.memoryUsage.rss)
  metrics.collectValue('nodejs_heap_size_used_bytes', () => process.memoryUsage().heapUsed)
  metrics.collectValue('process_cpu_seconds_total', () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1e6
  })
  metrics.collectValue('process_open_fds', countOpenFiles)
  metrics.collectValue('process_max_fds', findOpenFileLimit)
  const startedAt = Date.now() / 1000 - process.uptime()
  metrics.collectValue('process_start_time_seconds', () => startedAt)
  return () => delay.disable()
}
