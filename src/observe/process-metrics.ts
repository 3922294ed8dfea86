import { monitorEventLoopDelay } from 'node:perf_hooks'
import { countOpenFiles, findOpenFileLimit } from '../base/node-internals/open-files.ts'
import type { Metrics } from './metrics.ts'

const RESOLUTION_MS = 20
const NANOSECONDS = 1e9
const NO_LABELS = Object.freeze({})

/** Adds the figures of the process. Returns a function that stops measuring. */
export function addProcessMetrics(metrics: Metrics): () => void {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  const single = (value: number) => [{ labels: NO_LABELS, value }]
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
  metrics.collect('process_resident_memory_bytes', () => single(process.memoryUsage.rss()))
  metrics.collect('nodejs_heap_size_used_bytes', () => single(process.memoryUsage().heapUsed))
  metrics.collect('process_cpu_seconds_total', () => {
    const { user, system } = process.cpuUsage()
    return single((user + system) / 1e6)
  })
  metrics.collect('process_open_fds', () => toSamples(countOpenFiles()))
  metrics.collect('process_max_fds', () => toSamples(findOpenFileLimit()))
  const startedAt = Date.now() / 1000 - process.uptime()
  metrics.collect('process_start_time_seconds', () => single(startedAt))
  return () => delay.disable()
}

const toSamples = (value: number | undefined) => (value === undefined ? [] : [{ labels: NO_LABELS, value }])
